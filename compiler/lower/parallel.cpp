// SPDX-License-Identifier: Apache-2.0
// `parallel for`: the body becomes a function of its own, described by a kernel record; see
// bytecode/module.h for what goes where.
#include <limits>

#include "compiler/lower/function.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

namespace {

// The largest index plus one.
constexpr std::int64_t kWrapped = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::uint32_t FunctionLowering::outline(const hir::ParallelLoop& loop) {
  TypeLowering& types = module_.types();
  bc::Signature signature;
  signature.parameters.assign(loop.dimensions.size(), {Kind::kI64});
  for (const auto& capture : loop.captures) {
    const Leaves& more = types.leaves(capture.inner->type);
    signature.parameters.insert(signature.parameters.end(), more.begin(), more.end());
  }
  bc::KernelRecord record;
  for (const auto& reduction : loop.reductions) {
    const bc::ValueType accumulator = types.leaves(reduction.inner->type)[0];
    signature.parameters.push_back(accumulator);
    signature.results.push_back(accumulator);
    record.reductions.push_back({reduction.op, accumulator.kind});
  }
  const std::string name = name_ + ".parallel#" + std::to_string(++parallel_loops_);
  record.function = module_.builder().declare_function(name, std::move(signature));
  record.dimensions = static_cast<std::uint8_t>(loop.dimensions.size());
  record.device_hint = loop.device_hint;
  record.batch_hint = loop.batch_hint;
  record.fast_math = loop.fast_math;
  FunctionLowering kernel(module_, record.function, name);
  kernel.code_.set_position(code_.position());
  kernel.lower_kernel(loop);
  return module_.builder().add_kernel(std::move(record));
}

void FunctionLowering::parallel_for(const Stmt& s) {
  const hir::ParallelLoop& loop = *s.loop;
  const std::uint32_t kernel = outline(loop);
  Scope scope(*this);
  const Register primitives = registers_.next_primitive();
  const Register references = registers_.next_reference();
  const auto bound_argument = [&](const Expr& e) {
    const Register at = registers_.primitive();
    into(e, at);
    convert_in_place(e.type, at);
    return at;
  };
  for (const auto& dimension : loop.dimensions) {
    bound_argument(*dimension.low);
    const Register high = bound_argument(*dimension.high);
    if (dimension.may_wrap && constant_of(*dimension.high).value_or(kWrapped) == kWrapped)
      check_wrapped(high, dimension.high->position);
  }
  for (const auto& capture : loop.captures) argument(*capture.value);
  for (const auto& reduction : loop.reductions) {
    const Values at = allocate(reduction.outer->type);
    load(place_of(*reduction.outer), at);
  }
  code_.emit(Op::kParallelFor, primitives, references, kernel);
  Register result = primitives;
  for (const auto& reduction : loop.reductions) {
    store(place_of(*reduction.outer), {&result, 1});
    ++result;
  }
}

// Of an inclusive range, whose last index plus one is in `high`.
void FunctionLowering::check_wrapped(Register high, const hir::Position& at) {
  Scope scope(*this);
  const LabelId fine = code_.new_label();
  code_.branch(Op::kJNeI64, high, constant(kWrapped), fine);
  trap("a parallel loop cannot include the largest index", at);
  code_.bind(fine);
}

void FunctionLowering::lower_kernel(const hir::ParallelLoop& loop) {
  facts_.add(loop.body);
  reserve_signature();
  Register primitive = static_cast<Register>(loop.dimensions.size());
  Register reference = 0;
  for (const auto& capture : loop.captures) bind_parameter(*capture.inner, primitive, reference);
  Values accumulators;
  for (const auto& reduction : loop.reductions) {
    accumulators.push_back(primitive);
    bind_parameter(*reduction.inner, primitive, reference);
  }
  // Indices are i64. The low part of the register is the value of a narrower one already, since the bounds
  // were of that type.
  for (std::uint32_t i = 0; i < loop.dimensions.size(); ++i)
    slot(*loop.dimensions[i].local) = {LocalSlot::Kind::kRegisters, {static_cast<Register>(i)}};

  // `continue` ends the iteration.
  const LabelId end = code_.new_label();
  enclosing_.push_back({Enclosing::Kind::kLoop, end, end, nullptr});
  scoped(loop.body);
  enclosing_.pop_back();
  code_.bind(end);
  if (code_.reachable()) {
    Leaves types;
    for (const auto& reduction : loop.reductions) types.push_back(leaves(reduction.inner->type)[0]);
    return_values(types, accumulators);
  }
  finish();
}

}  // namespace dhpvm::compiler
