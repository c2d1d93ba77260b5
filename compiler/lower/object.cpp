// SPDX-License-Identifier: Apache-2.0
// Objects, arrays, closures, casts, weak references, atomics.
#include "compiler/lower/function.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

// What New and NewArray put there anyway.
bool is_zero(const hir::Expr& e) {
  switch (e.kind) {
    case ExprKind::kNull:
    case ExprKind::kZero: return true;
    case ExprKind::kInt: return e.integer == 0;
    case ExprKind::kFloat: return e.number == 0 && !__builtin_signbit(e.number);
    default: return false;
  }
}

}  // namespace

// The fields are computed first and the object made last: it is then younger than what it refers to, which
// spares the write barrier work, and not alive during the calls among them.
void FunctionLowering::new_object(const Expr& e, Target target) {
  const std::uint32_t type = module_.types().reference(e.type);
  const Register object = target.fresh ? target.registers[0] : registers_.reference();
  std::vector<Values> fields;
  for (const Expr* field : e.operands) fields.push_back(is_zero(*field) ? Values{} : values(*field));
  code_.emit(Op::kNew, object, 0, 0, type);
  for (std::uint32_t i = 0; i < e.operands.size(); ++i) {
    const Leaves& types = leaves(e.operands[i]->type);
    const LeafRange range = module_.types().field(e.type, i);
    for (std::uint32_t leaf = 0; leaf < fields[i].size(); ++leaf)
      put_field(types[leaf], object, fields[i][leaf], type, range.first + leaf);
  }
  if (e.function != nullptr) {
    Scope scope(*this);
    const Register primitive = registers_.next_primitive();
    const Register receiver = registers_.reference();
    code_.move_reference(receiver, object);
    for (const Expr* operand : e.arguments) argument(*operand);
    code_.emit(Op::kCall, primitive, receiver, module_.function(*e.function));
  }
  code_.move_reference(target.registers[0], object);
}

void FunctionLowering::new_array(const Expr& e, Target target) {
  const std::uint32_t rank = e.type->rank;
  Register sizes = 0;
  if (rank == 1) {
    sizes = scalar(*e.operands[0]);
  } else {
    // Side by side.
    sizes = registers_.next_primitive();
    for (std::uint32_t i = 0; i < rank; ++i) argument(*e.operands[i]);
  }
  const bool filled = e.has_fill && !is_zero(*e.operands[rank]);
  Values fill;
  if (filled) fill = values(*e.operands[rank]);
  const Register array = filled && !target.fresh ? registers_.reference() : target.registers[0];
  code_.emit(Op::kNewArray, array, sizes, 0, module_.types().reference(e.type));
  if (filled) fill_array(array, e.type, fill);
  code_.move_reference(target.registers[0], array);
}

void FunctionLowering::fill_array(Register array, const Type* type, const Values& fill) {
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
  Place element;
  element.kind = Place::Kind::kElement;
  element.type = type->element;
  element.base = array;
  element.index = index;
  element.container = module_.types().element_struct(type->element);
  store(element, fill);
  code_.branch(Op::kForI64, index, length, body);
  code_.end_loop();
  code_.bind(end);
}

void FunctionLowering::array_literal(const Expr& e, Target target) {
  const Register array = target.fresh ? target.registers[0] : registers_.reference();
  const Register index = registers_.primitive();
  code_.load(index, static_cast<std::int64_t>(e.operands.size()));
  code_.emit(Op::kNewArray, array, index, 0, module_.types().reference(e.type));
  Place element;
  element.kind = Place::Kind::kElement;
  element.type = e.type->element;
  element.base = array;
  element.index = index;
  element.container = module_.types().element_struct(e.type->element);
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    if (is_zero(*e.operands[i])) continue;
    Scope scope(*this);
    const Values value = values(*e.operands[i]);
    code_.load(index, static_cast<std::int64_t>(i));
    store(element, value);
  }
  code_.move_reference(target.registers[0], array);
}

void FunctionLowering::make_closure(const Expr& e, Target target) {
  const hir::Function& function = *e.function;
  const std::uint32_t type = e.kind == ExprKind::kClosure ? module_.closure_class(function)
                                                          : module_.function_value_class(function, e.type);
  // As long as it has its own type; the value is the function type.
  const Register object = registers_.reference();
  code_.emit(Op::kNew, object, 0, 0, type);
  std::uint32_t field = 0;
  for (const hir::Capture& capture : function.captures) {
    const LocalSlot& outer = slot(*capture.outer);
    if (outer.kind == LocalSlot::Kind::kCell) {
      put_field({Kind::kRef}, object, outer.registers[0], type, field++);
      continue;
    }
    const Leaves& types = leaves(capture.outer->type);
    for (std::size_t i = 0; i < types.size(); ++i)
      put_field(types[i], object, outer.registers[i], type, field++);
  }
  code_.emit(Op::kUpcast, target.registers[0], object, 0, module_.types().reference(e.type));
}

void FunctionLowering::cast(const Expr& e, Target target) {
  const Expr& operand = *e.operands[0];
  const Register to = target.registers[0];
  const Register from = scalar(operand);
  switch (e.kind) {
    case ExprKind::kUpcast: return code_.emit(Op::kUpcast, to, from, 0, module_.types().reference(e.type));
    case ExprKind::kIsType: return code_.emit(Op::kIsType, to, from, 0, module_.types().reference(e.tested));
    case ExprKind::kCast: {
      if (operand.type->is(TypeKind::kNullable)) {
        // The instruction lets null pass.
        const LabelId present = code_.new_label();
        code_.branch(Op::kJumpNonNull, from, present);
        code_.emit(Op::kTrap, static_cast<std::uint32_t>(ErrorCode::kBadCast));
        code_.bind(present);
      }
      return code_.emit(Op::kCast, to, from, 0, module_.types().reference(e.type));
    }
    default: {
      const std::uint32_t type = module_.types().reference(e.type);
      const Register is = registers_.primitive();
      const LabelId other = code_.new_label();
      const LabelId end = code_.new_label();
      code_.emit(Op::kIsType, is, from, 0, type);
      code_.branch(Op::kJumpIfNot, is, other);
      code_.emit(Op::kCast, to, from, 0, type);
      code_.jump(end);
      code_.bind(other);
      code_.emit(Op::kNull, to);
      return code_.bind(end);
    }
  }
}

void FunctionLowering::atomic(const Expr& e, Target target) {
  const Register array = scalar(*e.operands[0]);
  const Register index = element_index(e, array);
  const std::size_t first = 1 + e.operands[0]->type->rank;
  const Register value = scalar(*e.operands[first]);
  const Register second = first + 1 < e.operands.size() ? scalar(*e.operands[first + 1]) : Register{0};
  code_.emit(e.op, target.registers[0], array, index, value | static_cast<std::uint64_t>(second) << 16);
}

void FunctionLowering::array_copy(const Expr& e) {
  const Register to = scalar(*e.operands[0]);
  const Register first = registers_.next_primitive();
  argument(*e.operands[1]);
  const Register from = scalar(*e.operands[2]);
  argument(*e.operands[3]);
  argument(*e.operands[4]);
  code_.emit(Op::kArrayCopy, to, from, first);
}

}  // namespace dhpvm::compiler
