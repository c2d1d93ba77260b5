// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/counted_loop.h"

#include <bit>
#include <limits>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using bytecode::Op;

// All other ranges: the number of iterations is computed first, so that the counter cannot overflow. It runs from the
// negated number up to 0, which is enough for 2^63 iterations; more would not end in a lifetime.
void CountedLoopLowering::for_counted(const Stmt& s, Register index) {
  const Type* type = s.local->type;
  const auto step = s.step == nullptr ? std::optional<std::int64_t>(1) : constant_of(*s.step);
  const bool down = step && *step < 0;
  const bool is_unsigned = type->is_unsigned_integer();
  const Register low = widened(type, index);
  const Register limit = widened(type, parts_.loops.bound(*s.limit));
  Register step_register = 0;
  if (!step) {
    step_register = parts_.loops.bound(*s.step);
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
  parts_.loops.loop_body(s, index, exit, next);
  advance(index, step, step_register, type);
  code_.branch(Op::kForI64, counter, zero, body);
  code_.end_loop();
  code_.bind(exit);
}

Register CountedLoopLowering::widened(const Type* type, Register from) {
  if (is_64_bit(type)) return from;
  const Register to = registers_.primitive();
  code_.emit(type->is(TypeKind::kU32) ? Op::kU32ToU64 : Op::kI32ToI64, to, from);
  return to;
}

void CountedLoopLowering::check_step(const Expr& step, Register at) {
  Scope scope(*this);
  const LabelId positive = code_.new_label();
  const bool wide = is_64_bit(step.type);
  if (step.type->is_unsigned_integer()) {
    code_.branch(wide ? Op::kJNeImmI64 : Op::kJNeImmI32, at, 0, positive);
  } else {
    code_.branch(wide ? Op::kJGtImmI64 : Op::kJGtImmI32, at, 0, positive);
  }
  parts_.statements.trap("step must be positive", step.position);
  code_.bind(positive);
}

// Converts the distance between the bounds, in `at`, to a number of steps; in 63 bits.
void CountedLoopLowering::divide_by_step(Register at, std::optional<std::int64_t> step,
                                         Register step_register, const Type* type) {
  Scope scope(*this);
  // The magnitude, also of the most negative step.
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

void CountedLoopLowering::advance(Register index, std::optional<std::int64_t> step, Register step_register,
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
