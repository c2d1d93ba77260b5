// SPDX-License-Identifier: Apache-2.0
// Loops. The bound of a range is computed once, and what an iteration costs on top of its body is one
// instruction where the step is 1, two otherwise.
#include <bit>
#include <limits>

#include "compiler/lower/function.h"

namespace dhpvm::compiler {

using bytecode::Op;
using hir::ExprKind;

namespace {

bool is_64_bit(const Type* type) { return type->is(TypeKind::kI64) || type->is(TypeKind::kU64); }

}  // namespace

// The condition stands at the top, where `continue` goes as well. At the bottom it would need a back-edge of
// its own: nothing gained.
void FunctionLowering::while_loop(const Stmt& s) {
  const LabelId top = code_.new_label();
  const LabelId exit = code_.new_label();
  code_.begin_loop();
  code_.bind(top);
  branch_if(*s.value, false, exit);
  enclosing_.push_back({Enclosing::Kind::kLoop, exit, top, nullptr});
  scoped(s.body);
  enclosing_.pop_back();
  code_.jump(top);
  code_.end_loop();
  code_.bind(exit);
}

void FunctionLowering::for_range(const Stmt& s) {
  Scope scope(*this);
  const Type* type = s.local->type;
  const Register index = registers_.primitive();
  into(*s.value, index);
  const bool by_one = s.step == nullptr || constant_of(*s.step) == 1;
  if (!by_one || type->is(TypeKind::kU64)) return for_counted(s, index);
  if (type->is(TypeKind::kI64)) {
    const auto limit = constant_of(*s.limit);
    // The last number plus 1 may not be a limit.
    if (s.inclusive && (!limit || *limit == std::numeric_limits<std::int64_t>::max())) {
      return for_counted(s, index);
    }
    return for_unit(s, index, Op::kForI64);
  }
  if (!s.inclusive && !type->is(TypeKind::kU32)) return for_unit(s, index, Op::kForI32);
  // Counting in 64 bits, these never come near an overflow. The low half of the index is its value.
  convert_in_place(type, index);
  for_unit(s, index, Op::kForI64);
}

void FunctionLowering::loop_body(const Stmt& s, Register index, LabelId exit, LabelId next) {
  Scope scope(*this);
  enclosing_.push_back({Enclosing::Kind::kLoop, exit, next, nullptr});
  if (s.local->boxed) {
    declare_boxed(*s.local, registers_.reference(), {index});
  } else {
    slot(*s.local) = {LocalSlot::Kind::kRegisters, {index}};
  }
  scoped(s.body);
  enclosing_.pop_back();
  code_.bind(next);
}

// The register of a bound: where it stands, if it stays there.
Register FunctionLowering::bound(const Expr& e) {
  if (const auto value = constant_of(e)) return constant(*value);
  if (e.kind == ExprKind::kLocal && !facts_.assigned.contains(e.local)) {
    if (const auto registers = in_place(e)) return (*registers)[0];
  }
  const Register to = registers_.primitive();
  into(e, to);
  return to;
}

void FunctionLowering::convert_in_place(const Type* type, Register at) {
  if (is_64_bit(type)) return;
  code_.emit(type->is(TypeKind::kU32) ? Op::kU32ToU64 : Op::kI32ToI64, at, at);
}

// for i in low..limit, counted by the instruction `op`.
void FunctionLowering::for_unit(const Stmt& s, Register index, Op op) {
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

// All other ranges: the number of iterations is computed first, so that no step can overflow. A
// counter runs from its negative up to 0, which holds up to 2^63; more iterations than that do not end
// in anyone's lifetime.
void FunctionLowering::for_counted(const Stmt& s, Register index) {
  const Type* type = s.local->type;
  const auto step = s.step == nullptr ? std::optional<std::int64_t>(1) : constant_of(*s.step);
  const bool down = step && *step < 0;
  const bool is_unsigned = type->is_unsigned_integer();
  const Register low = widened(type, index);
  const Register limit = widened(type, bound(*s.limit));
  Register step_register = 0;
  if (!step) {
    step_register = bound(*s.step);
    check_step(*s.step, step_register);
  }
  const LabelId body = code_.new_label();
  const LabelId next = code_.new_label();
  const LabelId exit = code_.new_label();
  const Op less = is_unsigned ? Op::kJLtU64 : Op::kJLtI64;
  const Op less_or_equal = is_unsigned ? Op::kJLeU64 : Op::kJLeI64;
  const Register first = down ? limit : low;
  const Register second = down ? low : limit;
  code_.branch(s.inclusive ? less : less_or_equal, second, first, exit);

  const Register counter = registers_.primitive();
  code_.emit(Op::kSubI64, counter, second, first);
  if (!s.inclusive) code_.emit(Op::kAddImmI64, counter, counter, static_cast<std::uint16_t>(-1));
  divide_by_step(counter, step, step_register, type);
  code_.emit(Op::kNotI64, counter, counter);  // -(counter + 1)
  const Register zero = constant(0);

  code_.begin_loop();
  code_.bind(body);
  loop_body(s, index, exit, next);
  advance(index, step, step_register, type);
  code_.branch(Op::kForI64, counter, zero, body);
  code_.end_loop();
  code_.bind(exit);
}

Register FunctionLowering::widened(const Type* type, Register from) {
  if (is_64_bit(type)) return from;
  const Register to = registers_.primitive();
  code_.emit(type->is(TypeKind::kU32) ? Op::kU32ToU64 : Op::kI32ToI64, to, from);
  return to;
}

void FunctionLowering::check_step(const Expr& step, Register at) {
  Scope scope(*this);
  const LabelId positive = code_.new_label();
  const bool wide = is_64_bit(step.type);
  if (step.type->is_unsigned_integer()) {
    code_.branch(wide ? Op::kJNeImmI64 : Op::kJNeImmI32, at, 0, positive);
  } else {
    code_.branch(wide ? Op::kJGtImmI64 : Op::kJGtImmI32, at, 0, positive);
  }
  At position(*this, step.position);
  // No message: the loop may stand in a kernel, or in a function that kernels call, and those have no text. The
  // virtual machine knows the one reason for this trap.
  code_.emit(Op::kTrap, static_cast<std::uint32_t>(ErrorCode::kUserTrap));
  code_.bind(positive);
}

// The distance between the bounds, in `at`, becomes a number of steps; in 63 bits.
void FunctionLowering::divide_by_step(Register at, std::optional<std::int64_t> step, Register step_register,
                                      const Type* type) {
  Scope scope(*this);
  // The magnitude; of the most negative step as well.
  const std::uint64_t size = !step || *step >= 0 ? static_cast<std::uint64_t>(step.value_or(0))
                                                 : 0 - static_cast<std::uint64_t>(*step);
  if (!step) {
    code_.emit(Op::kDivU64, at, at, widened(type, step_register));
  } else if (size > 1 && std::has_single_bit(size)) {
    code_.emit(Op::kShrImmU64, at, at, static_cast<std::uint32_t>(std::countr_zero(size)));
  } else if (size > 1) {
    code_.emit(Op::kDivU64, at, at, constant(static_cast<std::int64_t>(size)));
  }
  if ((!step || size == 1) && is_64_bit(type))
    code_.emit(Op::kMinU64, at, at, constant(std::numeric_limits<std::int64_t>::max()));
}

void FunctionLowering::advance(Register index, std::optional<std::int64_t> step, Register step_register,
                               const Type* type) {
  Scope scope(*this);
  const bool wide = is_64_bit(type);
  if (step && *step == static_cast<std::int16_t>(*step)) {
    code_.emit(wide ? Op::kAddImmI64 : Op::kAddImmI32, index, index, static_cast<std::uint16_t>(*step));
  } else {
    code_.emit(wide ? Op::kAddI64 : Op::kAddI32, index, index, step ? constant(*step) : step_register);
  }
}

}  // namespace dhpvm::compiler
