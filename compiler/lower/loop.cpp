// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/loop.h"

#include <limits>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using bytecode::Op;
using hir::ExprKind;

// The condition is at the top, which is also the target of `continue`. At the bottom it would need its own back-edge,
// without gain.
void LoopLowering::while_loop(const Stmt& s) {
  const LabelId top = code_.new_label();
  const LabelId exit = code_.new_label();
  code_.begin_loop();
  code_.bind(top);
  parts_.conditions.branch_if(*s.value, false, exit);
  parts_.exits.enter_loop(exit, top);
  parts_.statements.scoped(s.body);
  parts_.exits.leave_enclosing();
  code_.jump(top);
  code_.end_loop();
  code_.bind(exit);
}

void LoopLowering::for_range(const Stmt& s) {
  Scope scope(*this);
  const Type* type = s.local->type;
  const Register index = registers_.primitive();
  into(*s.value, index);
  const bool by_one = s.step == nullptr || constant_of(*s.step) == 1;
  if (!by_one || type->is(TypeKind::kU64)) return parts_.counted_loops.for_counted(s, index);
  if (type->is(TypeKind::kI64)) {
    const auto limit = constant_of(*s.limit);
    // The last number plus 1 may overflow the limit.
    if (s.inclusive && (!limit || *limit == std::numeric_limits<std::int64_t>::max())) {
      return parts_.counted_loops.for_counted(s, index);
    }
    return for_unit(s, index, Op::kForI64);
  }
  if (!s.inclusive && !type->is(TypeKind::kU32)) return for_unit(s, index, Op::kForI32);
  // The counter has 64 bits and never overflows. The low half of the index is its value.
  convert_in_place(type, index);
  for_unit(s, index, Op::kForI64);
}

void LoopLowering::loop_body(const Stmt& s, Register index, LabelId exit, LabelId next) {
  Scope scope(*this);
  parts_.exits.enter_loop(exit, next);
  if (s.local->boxed) {
    parts_.locals.declare_boxed(*s.local, registers_.reference(), {index});
  } else {
    parts_.locals.slot(*s.local) = {LocalSlot::Kind::kRegisters, {index}};
  }
  parts_.statements.scoped(s.body);
  parts_.exits.leave_enclosing();
  code_.bind(next);
}

// The register of a bound: its own if it does not change.
Register LoopLowering::bound(const Expr& e) {
  if (const auto value = constant_of(e)) return constant(*value);
  if (e.kind == ExprKind::kLocal && !state_.facts.assigned.contains(e.local)) {
    if (const auto registers = parts_.expressions.in_place(e)) return (*registers)[0];
  }
  const Register to = registers_.primitive();
  into(e, to);
  return to;
}

void LoopLowering::convert_in_place(const Type* type, Register at) {
  if (is_64_bit(type)) return;
  code_.emit(type->is(TypeKind::kU32) ? Op::kU32ToU64 : Op::kI32ToI64, at, at);
}

// for i in low..limit, counted by the instruction `op`.
void LoopLowering::for_unit(const Stmt& s, Register index, Op op) {
  const bool wide = op == Op::kForI64;
  const auto constant_limit = constant_of(*s.limit);
  Register limit = 0;
  const LabelId body = code_.new_label();
  const LabelId next = code_.new_label();
  const LabelId exit = code_.new_label();
  if (constant_limit) {
    const std::int64_t value = *constant_limit + (s.inclusive ? 1 : 0);
    limit = constant(value);
    const auto low = constant_of(*s.value);
    if (low && *low >= value) {
      code_.jump(exit);
    } else if (!low) {
      code_.branch(wide ? Op::kJLeI64 : Op::kJLeI32, limit, index, exit);
    }
  } else {
    if (wide && !is_64_bit(s.local->type)) {
      limit = registers_.primitive();
      into(*s.limit, limit);
      convert_in_place(s.local->type, limit);
      if (s.inclusive) code_.emit(Op::kAddImmI64, limit, limit, 1);
    } else {
      limit = bound(*s.limit);
    }
    code_.branch(wide ? Op::kJLeI64 : Op::kJLeI32, limit, index, exit);
  }
  code_.begin_loop();
  code_.bind(body);
  loop_body(s, index, exit, next);
  code_.branch(op, index, limit, body);
  code_.end_loop();
  code_.bind(exit);
}

}  // namespace dhpvm::compiler
