// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/init_fields.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

// In `init`, numbers and bool start at zero and nullables at null; all other fields must be assigned before the object
// is used or `init` ends.
void InitFields::begin_init(FunctionInstance& instance) {
  state_.init = instance.owner;
  const ast::TypeDecl& declaration = *state_.init->symbol->declaration;
  for (std::uint32_t i = 0; i < declaration.fields.size(); ++i) {
    const Type* type = state_.init->type->fields[i].type;
    if (declaration.fields[i].fallback == nullptr && !parts_.arrays.has_zero(type))
      state_.flow.unassigned.insert(i);
  }
}

std::string InitFields::unassigned_names() const {
  std::string names;
  for (std::uint32_t field : state_.flow.unassigned) {
    names += (names.empty() ? "'" : ", '") + state_.init->type->fields[field].name + "'";
  }
  return names;
}

void InitFields::end_init(Range range) {
  if (state_.flow.unassigned.empty()) return;
  error(range, "'init' ends without a value for {}", unassigned_names())
      .help("assign it on every path, or give the field a default");
  state_.flow.unassigned.clear();
}

void InitFields::require_initialised(Range range, std::string_view use) {
  if (state_.flow.unassigned.empty()) return;
  error(range, "{} before {} has a value", use, unassigned_names()).help("assign all fields first");
  state_.flow.unassigned.clear();
}

}  // namespace dhpvm::compiler
