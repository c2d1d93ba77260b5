// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/natives.h"

#include <algorithm>
#include <new>
#include <string>

#include "base/error.h"
#include "vm/isolate.h"

namespace dhpvm::stdlib {

std::span<const NativeRow> natives() {
  static constexpr NativeRow kRows[] = {
#define DHPVM_NATIVE(name, reach, signature, function, meaning) \
  {name, Reach::reach, signature, function, meaning},
#include "stdlib/native/natives.def"
  };
  return kRows;
}

vm::NativeFastPath fast_path(std::string_view name) {
#define DHPVM_FAST_PATH(row, function) \
  if (name == (row)) return function;
#include "stdlib/native/natives.def"
  return nullptr;
}

std::string without_parameter_names(std::string_view signature) {
  const std::size_t end = std::min(signature.rfind("->"), signature.size());
  std::string out;
  bool in_name = false;
  for (const char c : signature.substr(0, end)) {
    // A name follows a blank that does not follow a comma.
    if (c == ',' || c == ')') in_name = false;
    if (c == ' ' && !out.empty() && out.back() != ',' && out.back() != ')') in_name = true;
    if (!in_name) out += c;
  }
  return out.append(signature.substr(end));
}

namespace {

Status register_native(vm::NativeRegistry& registry, const NativeRow& row) {
  // A native may need more temporary memory than the system has, before it makes any object.
  auto guarded = [function = row.function](vm::NativeCall& call) -> Status {
    try {
      return function(call);
    } catch (const std::bad_alloc&) {
      return call.isolate.out_of_memory("a native function ran out of memory");
    }
  };
  return registry.define(std::string(row.name), without_parameter_names(row.signature), guarded,
                         fast_path(row.name));
}

}  // namespace

Status register_natives(vm::NativeRegistry& registry, Reach allowed,
                        std::span<const bytecode::Import> imports) {
  for (const bytecode::Import& import : imports) {
    std::string_view name = import.name;
    if (name.ends_with(bytecode::kFallibleImport)) name.remove_suffix(1);
    const auto row = std::ranges::find(natives(), name, &NativeRow::name);
    if (row == natives().end() || registry.find(name) != nullptr) continue;
    if (row->reach > allowed)
      return error(ErrorCode::kLink,
                   "this program may not reach files and the environment of the system, which '{}' does; "
                   "in place of --no-system, --allow=read:DIR,write:DIR,env,run permits what it lists",
                   name);
    DHPVM_TRY(register_native(registry, *row));
  }
  return {};
}

}  // namespace dhpvm::stdlib
