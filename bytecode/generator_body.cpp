// SPDX-License-Identifier: Apache-2.0
// Random function bodies: the frame, nesting, the end.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "bytecode/generator_internal.h"

namespace dhpvm::bytecode::testing {

BodyGenerator::BodyGenerator(World& world, std::uint32_t function, Role role)
    : world_(world),
      choices_(world.choices),
      f_(world.module, function),
      signature_(world.module.module().functions[function].signature),
      role_(role),
      left_(static_cast<std::int32_t>(world.options.statements)) {}

void BodyGenerator::add_register(Pool pool, std::uint16_t reg, bool writable) {
  sources_[static_cast<std::size_t>(pool)].push_back(reg);
  if (writable) pools_[static_cast<std::size_t>(pool)].push_back(reg);
}

void BodyGenerator::take_parameters(bool writable) {
  for (const ValueType& parameter : signature_.parameters) {
    if (parameter.is_ref())
      references_.push_back({parameter.type, next_r_++});
    else
      add_register(pool_of(parameter.kind), next_p_++, writable);
  }
}

void BodyGenerator::initialise() {
  f_.mark_line(world_.module.string("generated"), 1 + choices_.below(200), choices_.below(80));
  for (std::size_t pool = 0; pool < kPools; ++pool) {
    for (int i = 0; i < 3; ++i) {
      constant(next_p_, static_cast<Pool>(pool));
      add_register(static_cast<Pool>(pool), next_p_++, true);
    }
  }
  for (int i = 0; i < 4; ++i) counters_.push_back(next_p_++);
  scratch_ = next_p_;
  next_p_ = static_cast<std::uint16_t>(next_p_ + 3);
  for (std::uint32_t n = choices_.below(4); n > 0; --n) {
    const auto kind = static_cast<Kind>(choices_.below(11));
    const std::uint32_t count = 8 + choices_.below(8);
    f_.add_local(kind, count);
    locals_.push_back({kind, count});
  }
}

void BodyGenerator::initialise_references() {
  window_r_ = static_cast<std::uint16_t>(next_r_ + world_.types.size() * 2);  // new_value uses it
  for (const std::uint32_t type : world_.types) {
    if (world_.options.small && choices_.one_in(2)) continue;
    for (std::uint32_t n = choices_.below(3); n > 0; --n) {
      const std::uint16_t reg = next_r_++;
      if (choices_.one_in(30))
        emit(Op::kNull, reg);
      else
        new_value(reg, type);
      references_.push_back({type, reg});
    }
  }
}

void BodyGenerator::run() {
  take_parameters(true);
  initialise();
  window_p_ = next_p_;
  window_r_ = next_r_;
  if (role_ != Role::kPure) initialise_references();
  while (left_ > 0) statement(0);
  finish();
}

void BodyGenerator::block(std::uint32_t depth) {
  for (std::uint32_t n = 1 + choices_.below(4); n > 0 && left_ > 0; --n) statement(depth);
}

void BodyGenerator::statement(std::uint32_t depth) {
  --left_;
  if (choices_.one_in(4))
    f_.mark_line(world_.module.string("generated"), 1 + choices_.below(200), choices_.below(80));
  const std::uint32_t what = choices_.below(32);
  if (what < 10) return compute();
  if (what < 12) return local_access();
  if (what < 15 && depth < 3) {
    const bool may_catch = role_ == Role::kGeneral || role_ == Role::kMethod;
    return may_catch && choices_.one_in(4) ? protect(depth) : branch(depth);
  }
  if (what < 17 && loops_ < 2) return loop(depth);
  if (role_ == Role::kPure || role_ == Role::kKernel) {
    if (what < 19 && role_ == Role::kKernel && loops_ == 0) return call();
    if (what < 22 && !references_.empty())
      return access(false, references_[0].reg, references_[0].type, index(7));
    return compute();
  }
  if (what < 21) return array_access();
  if (what < 22) return array_operation();
  if (what < 24) return object_access();
  if (what < 25) return reference_move();
  if (what < 26) return type_test();
  if (what < 28) return string_operation();
  if (what < 29) return raise();
  // Calls in inner loops would make the work grow with every level of the call graph.
  if (role_ == Role::kMethod || loops_ > 1) return compute();
  if (what < 30) return call();
  if (what < 31) return choices_.one_in(2) ? call_native() : call_method();
  return launch();
}

void BodyGenerator::branch(std::uint32_t depth) {
  const Label otherwise = f_.new_label();
  Reference reference;
  if (choices_.one_in(6) && !references_.empty() && role_ != Role::kKernel && role_ != Role::kPure) {
    reference = choices_.pick(references_);
    f_.branch(choices_.pick({Op::kJumpNull, Op::kJumpNonNull}), reference.reg, otherwise);
  } else {
    const Computation& c = choices_.pick(world_.conditions);
    const OpInfo& row = info(c.op);
    const std::uint16_t a = operand(c.a);
    if (row.b == Operand::kOff32)
      f_.branch(c.op, a, otherwise);
    else
      f_.branch(c.op, a, row.b == Operand::kImm ? static_cast<std::uint16_t>(choices_.bits()) : source(c.b),
                otherwise);
  }
  block(depth + 1);
  if (!choices_.one_in(2)) return f_.bind(otherwise);
  const Label end = f_.new_label();
  f_.jump(end);
  f_.bind(otherwise);
  block(depth + 1);
  f_.bind(end);
}

// Registers keep their types, so a handler may read all of them.
void BodyGenerator::protect(std::uint32_t depth) {
  const Label handler = f_.new_label();
  const Label end = f_.new_label();
  f_.branch(Op::kProtect, 0, handler);
  block(depth + 1);
  // Traps are rare elsewhere, so this divides by a value that is 0 half of the time.
  if (choices_.one_in(2)) {
    emit(Op::kAndImmI64, scratch_, source(Pool::kI64), 1);
    emit(Op::kRemI64, any(Pool::kI64), source(Pool::kI64), scratch_);
  }
  f_.jump(end);
  f_.bind(handler);
  emit(Op::kCaught, scratch_);
  if (choices_.one_in(2)) block(depth + 1);
  if (choices_.one_in(4)) {
    const auto number = static_cast<std::uint16_t>(scratch_ + 2);
    const Label past = f_.new_label();
    f_.load_integer(number, choices_.below(2));
    f_.branch(Op::kJumpIf, source(Pool::kBool), past);
    emit(Op::kTrapAgain, number);
    f_.bind(past);
  }
  f_.bind(end);
}

void BodyGenerator::loop(std::uint32_t depth) {
  const std::uint16_t counter = counters_[2 * loops_];
  const std::uint16_t limit = counters_[2 * loops_ + 1];
  const bool wide = choices_.one_in(2);
  const Label out = f_.new_label();
  const Label top = f_.new_label();
  // Mostly a few iterations from 0; sometimes up to the largest number, or to a bound known only at run time.
  const std::int64_t most = wide ? INT64_MAX : INT32_MAX;
  const std::int64_t first = choices_.one_in(8) ? choices_.pick({most - 3, -most - 1, std::int64_t{-2}}) : 0;
  f_.load_integer(counter, first);
  if (first == 0 && choices_.one_in(4))
    emit(Op::kAndImmI64, limit, source(Pool::kI64), 7);
  else
    f_.load_integer(limit, first + choices_.below(first == most - 3 ? 4 : 5));
  const bool at_top = choices_.one_in(3);  // a loop that tests at its top, with a plain back-edge
  if (at_top) {
    f_.bind(top);
    f_.branch(wide ? Op::kJLeI64 : Op::kJLeI32, limit, counter, out);
  } else {
    f_.branch(wide ? Op::kJLeI64 : Op::kJLeI32, limit, counter, out);
    f_.bind(top);
  }
  ++loops_;
  block(depth + 1);
  // The counter is read in the loop, never written.
  emit(wide ? Op::kMoveP : Op::kI64ToI32, any(wide ? Pool::kI64 : Pool::kI32), counter);
  --loops_;
  if (choices_.one_in(3)) {  // a way out before the end
    const Computation& c = world_.conditions.front();
    f_.branch(c.op, source(c.a), out);
  }
  if (at_top) {
    emit(wide ? Op::kAddImmI64 : Op::kAddImmI32, counter, counter, 1);
    f_.jump(top);
  } else {
    f_.branch(wide ? Op::kForI64 : Op::kForI32, counter, limit, top);
  }
  f_.bind(out);
}

// sum = sum * 31 + every register that may be written, as an integer.
void BodyGenerator::fold_into(std::uint16_t sum) {
  constexpr Op kToI64[kPools] = {Op::kI32ToI64, Op::kMoveP, Op::kF32ToI64, Op::kF64ToI64, Op::kI32ToI64};
  const std::uint16_t value = scratch_;
  f_.load_integer(sum, 17);
  for (std::size_t pool = 0; pool < kPools; ++pool) {
    for (const std::uint16_t reg : pools_[pool]) {
      emit(kToI64[pool], value, reg);
      emit(Op::kMulImmI64, sum, sum, 31);
      emit(Op::kAddI64, sum, sum, value);
    }
  }
}

void BodyGenerator::finish() {
  const std::vector<ValueType>& results = signature_.results;
  if (results.size() == 1 && results[0].kind == Kind::kI64) {
    const auto sum = static_cast<std::uint16_t>(scratch_ + 1);
    fold_into(sum);
    emit(Op::kReturnP, sum);
  } else if (results.size() == 1 && results[0].is_ref()) {
    const std::uint16_t reg = of_type(results[0].type);
    if (reg == kNone) emit(Op::kNull, window_r_);
    emit(Op::kReturnR, reg == kNone ? window_r_ : reg);
  } else if (results.size() == 1) {
    emit(Op::kReturnP, source(pool_of(results[0].kind)));
  } else {
    // The values pass through the window, since a result's register may hold another result's value.
    std::uint16_t p = 0;
    std::uint16_t r = 0;
    for (const ValueType& result : results) {
      if (!result.is_ref()) {
        emit(Op::kMoveP, static_cast<std::uint16_t>(window_p_ + p++), source(pool_of(result.kind)));
        continue;
      }
      const auto to = static_cast<std::uint16_t>(window_r_ + r++);
      const std::uint16_t reg = of_type(result.type);
      if (reg == kNone)
        emit(Op::kNull, to);
      else
        emit(Op::kMoveR, to, reg);
    }
    while (p-- > 0) emit(Op::kMoveP, p, static_cast<std::uint16_t>(window_p_ + p));
    while (r-- > 0) emit(Op::kMoveR, r, static_cast<std::uint16_t>(window_r_ + r));
    emit(Op::kReturn);
  }
  if (!f_.finish().ok()) std::abort();  // a mistake of this generator
}

namespace {

Op reduction_op(const Reduction& reduction) {
  const auto pick = [&](Op i32, Op i64, Op u32, Op u64, Op f32, Op f64) {
    switch (reduction.kind) {
      case Kind::kF64: return f64;
      case Kind::kF32: return f32;
      case Kind::kI64: return i64;
      case Kind::kU64: return u64;
      case Kind::kU32: return u32;
      default: return i32;
    }
  };
  switch (reduction.op) {
    case ReductionOp::kAdd:
      return pick(Op::kAddI32, Op::kAddI64, Op::kAddI32, Op::kAddI64, Op::kAddF32, Op::kAddF64);
    case ReductionOp::kMul:
      return pick(Op::kMulI32, Op::kMulI64, Op::kMulI32, Op::kMulI64, Op::kMulF32, Op::kMulF64);
    case ReductionOp::kMin:
      return pick(Op::kMinI32, Op::kMinI64, Op::kMinU32, Op::kMinU64, Op::kMinF32, Op::kMinF64);
    case ReductionOp::kMax:
      return pick(Op::kMaxI32, Op::kMaxI64, Op::kMaxU32, Op::kMaxU64, Op::kMaxF32, Op::kMaxF64);
    case ReductionOp::kAnd: return Op::kAndI64;
    case ReductionOp::kOr: return Op::kOrI64;
    case ReductionOp::kXor: return Op::kXorI64;
  }
  return Op::kNop;
}

}  // namespace

void BodyGenerator::run_kernel(const KernelRecord& kernel) {
  take_parameters(false);
  const std::vector<Reference> arrays = references_;
  references_ = {arrays[0]};
  initialise();
  window_p_ = next_p_;
  window_r_ = next_r_;
  while (left_ > 0) statement(0);

  // This iteration's own element of arrays[1].
  std::uint16_t at = 0;
  const std::uint8_t rank = world_.module.type(arrays[1].type).rank;
  if (rank > 1) at = scratch_;
  if (rank == 2) emit_x(Op::kIndex2, at, arrays[1].reg, 0, 1);
  if (rank == 3) emit_x(Op::kIndex3, at, arrays[1].reg, 0, 1 | 2 << 16);
  access(false, arrays[1].reg, arrays[1].type, at);
  compute();
  access(true, arrays[1].reg, arrays[1].type, at);
  if (choices_.one_in(2)) atomic(arrays[2].reg, arrays[2].type, false);

  const auto is_primitive = [](const ValueType& value) { return !value.is_ref(); };
  const auto primitives =
      std::count_if(signature_.parameters.begin(), signature_.parameters.end(), is_primitive);
  auto accumulator =
      static_cast<std::uint16_t>(static_cast<std::size_t>(primitives) - kernel.reductions.size());
  for (std::uint16_t i = 0; i < kernel.reductions.size(); ++i, ++accumulator) {
    // Results stand in P[0..]: in or below the register of their accumulator, so nothing is
    // overwritten too early.
    emit(reduction_op(kernel.reductions[i]), i, accumulator, any(pool_of(kernel.reductions[i].kind)));
  }
  emit(Op::kReturn);
  if (!f_.finish().ok()) std::abort();
}

}  // namespace dhpvm::bytecode::testing
