// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/parallel.h"

#include <limits>

#include "compiler/lower/function.h"
#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

namespace {

// The largest index plus one.
constexpr std::int64_t kWrapped = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::uint32_t ParallelLoopLowering::outline(const hir::ParallelLoop& loop) {
  bc::Signature signature;
  signature.parameters.assign(loop.dimensions.size(), {Kind::kI64});
  for (const auto& capture : loop.captures) {
    const Leaves& more = leaves(capture.inner->type);
    signature.parameters.insert(signature.parameters.end(), more.begin(), more.end());
  }
  bc::KernelRecord record;
  for (const auto& reduction : loop.reductions) {
    const bc::ValueType accumulator = leaves(reduction.inner->type)[0];
    signature.parameters.push_back(accumulator);
    signature.results.push_back(accumulator);
    record.reductions.push_back({reduction.op, accumulator.kind});
  }
  const std::string name = state_.name + ".parallel#" + std::to_string(++loops_);
  record.function = module_.builder().declare_function(name, std::move(signature));
  record.dimensions = static_cast<std::uint8_t>(loop.dimensions.size());
  record.device_hint = loop.device_hint;
  record.batch_hint = loop.batch_hint;
  record.fast_math = loop.fast_math;
  record.source = lower_kernel(module_, record.function, name, loop, code_.position());
  return module_.builder().add_kernel(std::move(record));
}

void ParallelLoopLowering::parallel_for(const Stmt& s) {
  const hir::ParallelLoop& loop = *s.loop;
  const std::uint32_t kernel = outline(loop);
  Scope scope(*this);
  const Register primitives = registers_.next_primitive();
  const Register references = registers_.next_reference();
  const auto bound_argument = [&](const Expr& e) {
    const Register at = registers_.primitive();
    into(e, at);
    parts_.loops.convert_in_place(e.type, at);
    return at;
  };
  for (const auto& dimension : loop.dimensions) {
    bound_argument(*dimension.low);
    const Register high = bound_argument(*dimension.high);
    if (dimension.may_wrap && constant_of(*dimension.high).value_or(kWrapped) == kWrapped)
      check_wrapped(high, dimension.high->position);
  }
  for (const auto& capture : loop.captures) parts_.calls.argument(*capture.value);
  for (const auto& reduction : loop.reductions) {
    const Values at = allocate(reduction.outer->type);
    parts_.places.load(parts_.places.place_of(*reduction.outer), at);
  }
  code_.emit(Op::kParallelFor, primitives, references, kernel);
  Register result = primitives;
  for (const auto& reduction : loop.reductions) {
    parts_.places.store(parts_.places.place_of(*reduction.outer), {&result, 1});
    ++result;
  }
}

// Traps if an inclusive range, whose last index plus one is in `high`, ends at the largest index.
void ParallelLoopLowering::check_wrapped(Register high, const hir::Position& at) {
  Scope scope(*this);
  const LabelId fine = code_.new_label();
  code_.branch(Op::kJNeI64, high, constant(kWrapped), fine);
  parts_.statements.trap("a parallel loop cannot include the largest index", at);
  code_.bind(fine);
}

}  // namespace dhpvm::compiler
