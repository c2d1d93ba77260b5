// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/object.h"

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

// The fields are evaluated first and the object is made last: it is then younger than the objects that it refers to,
// which avoids work for the write barrier, and it is not live across the calls among them.
void ObjectLowering::new_object(const Expr& e, Target target) {
  const std::uint32_t type = types_.reference(e.type);
  const Register object = target.fresh ? target.registers[0] : registers_.reference();
  std::vector<Values> fields;
  for (const Expr* field : e.operands) fields.push_back(is_zero(*field) ? Values{} : values(*field));
  code_.emit(Op::kNew, object, 0, 0, type);
  for (std::uint32_t i = 0; i < e.operands.size(); ++i) {
    const Leaves& types = leaves(e.operands[i]->type);
    const LeafRange range = types_.field(e.type, i);
    for (std::uint32_t leaf = 0; leaf < fields[i].size(); ++leaf)
      parts_.places.put_field(types[leaf], object, fields[i][leaf], type, range.first + leaf);
  }
  if (e.function != nullptr) {
    Scope scope(*this);
    const Register primitive = registers_.next_primitive();
    const Register receiver = registers_.reference();
    code_.move_reference(receiver, object);
    for (const Expr* operand : e.arguments) parts_.calls.argument(*operand);
    code_.emit(Op::kCall, primitive, receiver, module_.function(*e.function));
  }
  code_.move_reference(target.registers[0], object);
}

void ObjectLowering::make_closure(const Expr& e, Target target) {
  const hir::Function& function = *e.function;
  const std::uint32_t type = e.kind == ExprKind::kClosure ? module_.closure_class(function)
                                                          : module_.function_value_class(function, e.type);
  // While it has the closure's own type; the value has the function type.
  const Register object = registers_.reference();
  code_.emit(Op::kNew, object, 0, 0, type);
  std::uint32_t field = 0;
  for (const hir::Capture& capture : function.captures) {
    const LocalSlot& outer = parts_.locals.slot(*capture.outer);
    if (outer.kind == LocalSlot::Kind::kCell) {
      parts_.places.put_field({Kind::kRef}, object, outer.registers[0], type, field++);
      continue;
    }
    const Leaves& types = leaves(capture.outer->type);
    for (std::size_t i = 0; i < types.size(); ++i)
      parts_.places.put_field(types[i], object, outer.registers[i], type, field++);
  }
  code_.emit(Op::kUpcast, target.registers[0], object, 0, types_.reference(e.type));
}

void ObjectLowering::cast(const Expr& e, Target target) {
  const Expr& operand = *e.operands[0];
  const Register to = target.registers[0];
  const Register from = scalar(operand);
  switch (e.kind) {
    case ExprKind::kUpcast: return code_.emit(Op::kUpcast, to, from, 0, types_.reference(e.type));
    case ExprKind::kIsType: return code_.emit(Op::kIsType, to, from, 0, types_.reference(e.tested));
    case ExprKind::kCast: {
      if (operand.type->is(TypeKind::kNullable)) {
        // The instruction accepts null.
        const LabelId present = code_.new_label();
        code_.branch(Op::kJumpNonNull, from, present);
        code_.emit(Op::kTrap, static_cast<std::uint32_t>(ErrorCode::kBadCast));
        code_.bind(present);
      }
      return code_.emit(Op::kCast, to, from, 0, types_.reference(e.type));
    }
    default: {
      const std::uint32_t type = types_.reference(e.type);
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

}  // namespace dhpvm::compiler
