// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/lowering_part.h"

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

LoweringPart::LoweringPart(FunctionParts& parts)
    : parts_(parts),
      state_(parts.state),
      module_(state_.module),
      types_(module_.types()),
      registers_(state_.registers),
      code_(state_.code) {}

Register LoweringPart::allocate(const bc::ValueType& leaf) {
  return leaf.is_ref() ? registers_.reference() : registers_.primitive();
}

Values LoweringPart::allocate(const Type* type) {
  Values values;
  for (const bc::ValueType& leaf : leaves(type)) values.push_back(allocate(leaf));
  return values;
}

void LoweringPart::move(const bc::ValueType& leaf, Register to, Register from) {
  if (leaf.is_ref()) {
    code_.move_reference(to, from);
  } else {
    code_.move_primitive(to, from);
  }
}

void LoweringPart::move(const Leaves& types, std::span<const Register> to, std::span<const Register> from) {
  for (std::size_t i = 0; i < types.size(); ++i) move(types[i], to[i], from[i]);
}

Register LoweringPart::scalar(const Expr& e) { return parts_.expressions.scalar(e); }
Values LoweringPart::values(const Expr& e) { return parts_.expressions.values(e); }
void LoweringPart::into(const Expr& e, Target target) { parts_.expressions.into(e, target); }
std::optional<std::int64_t> LoweringPart::constant_of(const Expr& e) const {
  return parts_.constants.constant_of(e);
}
Register LoweringPart::constant(std::int64_t value) { return parts_.constants.constant(value); }

}  // namespace dhpvm::compiler
