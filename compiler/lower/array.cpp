// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/array.h"

#include "bytecode/field_place.h"
#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

void ArrayLowering::new_array(const Expr& e, Target target) {
  const std::uint32_t rank = e.type->rank;
  Register sizes = 0;
  if (rank == 1) {
    sizes = scalar(*e.operands[0]);
  } else {
    // In consecutive registers.
    sizes = registers_.next_primitive();
    for (std::uint32_t i = 0; i < rank; ++i) parts_.calls.argument(*e.operands[i]);
  }
  const bool filled = e.has_fill && !is_zero(*e.operands[rank]);
  Values fill;
  if (filled) fill = values(*e.operands[rank]);
  const Register array = filled && !target.fresh ? registers_.reference() : target.registers[0];
  code_.emit(Op::kNewArray, array, sizes, 0, types_.reference(e.type));
  if (filled) fill_array(array, e.type, fill);
  code_.move_reference(target.registers[0], array);
}

void ArrayLowering::fill_array(Register array, const Type* type, const Values& fill) {
  Scope scope(*this);
  const Register length = registers_.primitive();
  const Register index = registers_.primitive();
  const LabelId body = code_.new_label();
  const LabelId end = code_.new_label();
  code_.emit(Op::kArrayLength, length, array);
  code_.load(index, 0);
  code_.branch(Op::kJLeI64, length, index, end);
  code_.begin_loop();
  code_.bind(body);
  const Place element = parts_.places.element(type->element, array, index);
  parts_.places.store(element, fill);
  code_.branch(Op::kForI64, index, length, body);
  code_.end_loop();
  code_.bind(end);
}

void ArrayLowering::array_literal(const Expr& e, Target target) {
  const Register array = target.fresh ? target.registers[0] : registers_.reference();
  const Register index = registers_.primitive();
  code_.load(index, static_cast<std::int64_t>(e.operands.size()));
  code_.emit(Op::kNewArray, array, index, 0, types_.reference(e.type));
  const Place element = parts_.places.element(e.type->element, array, index);
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    if (is_zero(*e.operands[i])) continue;
    Scope scope(*this);
    const Values value = values(*e.operands[i]);
    code_.load(index, static_cast<std::int64_t>(i));
    parts_.places.store(element, value);
  }
  code_.move_reference(target.registers[0], array);
}

void ArrayLowering::array_copy(const Expr& e) {
  const Register to = scalar(*e.operands[0]);
  const Register first = registers_.next_primitive();
  parts_.calls.argument(*e.operands[1]);
  const Register from = scalar(*e.operands[2]);
  parts_.calls.argument(*e.operands[3]);
  parts_.calls.argument(*e.operands[4]);
  code_.emit(Op::kArrayCopy, to, from, first);
}

void ArrayLowering::atomic(const Expr& e, Target target) {
  const Place place = parts_.places.resolve(*e.operands[0]);
  const Register value = scalar(*e.operands[1]);
  const Register second = e.operands.size() > 2 ? scalar(*e.operands[2]) : Register{0};
  std::uint64_t x = value | static_cast<std::uint64_t>(second) << 16;
  if (place.container != bc::kNoIndex) {
    x |= bc::atomic_place({.size = module_.builder().type(place.container).size,
                           .offset = types_.offset(place.container, place.first_leaf)});
  }
  code_.emit(e.op, target.registers[0], place.base, place.index, x);
}

}  // namespace dhpvm::compiler
