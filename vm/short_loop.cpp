// SPDX-License-Identifier: Apache-2.0
#include "vm/short_loop.h"

#include <algorithm>
#include <span>

#include "bytecode/reduction.h"
#include "gc/object.h"
#include "offload/devices/host/host_loop.h"
#include "vm/captured_arrays.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using codegen::KernelStatus;

// One in so many executions is measured, because the time of an iteration may change. The slow path takes half a
// microsecond more, or 8 ns for each execution.
constexpr std::uint64_t kMeasured = 64;
// In seconds. The slow path takes a thousandth of this.
constexpr double kShortAlone = 1e-3;

// Whether `described` still describes the array, apart from the place of its elements. Compared member by member: most
// executions have nothing else to do, and writing a description in order to compare it takes twice as long.
bool still_describes(const Context& context, const codegen::KernelArray& described, gc::Ref reference) {
  if (reference == nullptr || described.data == nullptr) return false;
  const auto& array = *reinterpret_cast<const gc::Array*>(reference);
  const codegen::ArrayShape& shape = described.shape;
  if (array.length != shape.length || array.data == nullptr) return false;
  const bool all = array.buffer != nullptr;
  if (shape.readable != (all ? array.length : array.readable)) return false;
  if (shape.writable != (all ? array.length : array.writable)) return false;
  if (context.types[array.header.type].size == sizeof(gc::Array)) return true;
  const auto& dims = reinterpret_cast<const gc::MultiArray&>(array).dims;
  for (std::size_t d = 0; d < shape.dims.size(); ++d) {
    if (dims[d] != shape.dims[d]) return false;
  }
  return true;
}

}  // namespace

// Records bounds and scalars. False if they differ from those of the last execution.
bool ShortLoop::take_window(const LinkedKernel& kernel, const std::uint64_t* p) {
  const std::size_t size = 2u * kernel.dimensions + kernel.scalars;
  std::size_t same = 0;
  while (same < window_.size() && window_[same] == p[same]) ++same;  // too few for a call of memcmp
  if (same == size) return true;
  window_.assign(p, p + size);
  space_.dimensions = kernel.dimensions;
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    space_.low[d] = get<std::int64_t>(window_[2 * d]);
    space_.high[d] = get<std::int64_t>(window_[2 * d + 1]);
  }
  iterations_ = space_.count().value_or(0);
  return false;
}

// Records the arrays, and sets `changed` if a shape differs from the last execution. False if an array has to be
// fetched.
bool ShortLoop::take_arrays(const Context& context, const LinkedKernel& kernel, const gc::Ref* r,
                            bool& changed) {
  arrays_.resize(kernel.arrays);
  for (std::size_t n = 0; n < kernel.arrays; ++n) {
    const auto* const array = reinterpret_cast<const gc::Array*>(r[n]);
    if (array != nullptr && array->writable != array->length && array->buffer != nullptr) return false;
    if (still_describes(context, arrays_[n], r[n])) {
      arrays_[n].data = array->data;
    } else {
      describe(context, r[n], arrays_[n]);
      changed = true;
    }
  }
  return true;
}

const codegen::CompiledKernel* ShortLoop::choose(const LinkedKernel& kernel, LoopCode& code) {
  offload::LoopChunk chunk;
  chunk.space = space_;
  chunk.scalars = std::span(window_).last(kernel.scalars);
  chunk.arrays = arrays_;
  const codegen::CompiledKernel* const found = code.find(code.choose(chunk), LoopCode::kAnyLanes);
  if (found == nullptr || found->panel_bytes() != 0) return nullptr;
  const std::size_t partials =
      kernel.accumulators == 0 ? 0 : offload::reduction_blocks(space_) * kernel.accumulators;
  partials_.resize(partials);
  code_ = found->code();
  return found;
}

const codegen::CompiledKernel* ShortLoop::find(const Context& context, const LinkedKernel& kernel,
                                               LoopCode& code, const LoopTiming& timing,
                                               std::uint32_t threads, const std::uint64_t* p,
                                               const gc::Ref* r) {
  is_new_ = false;
  if (!timing.is_measured()) return nullptr;
  if (++executions_ % kMeasured == 0) {
    forget();
    return nullptr;
  }
  bool changed = false;
  if (!take_window(kernel, p)) forget();
  if (iterations_ == 0) return nullptr;
  const double shortest_shared = threads == 1 ? kShortAlone : offload::LoopProfile::kNeverShared;
  if (static_cast<double>(iterations_) * timing.measured() > shortest_shared) return nullptr;
  if (!take_arrays(context, kernel, r, changed)) {
    forget();
    return nullptr;
  }
  if (changed || compiled_ == nullptr) {
    compiled_ = choose(kernel, code);
    is_new_ = true;
  }
  return compiled_;
}

KernelStatus ShortLoop::run(const Context& context, const LinkedKernel& kernel, std::uint64_t* p,
                            codegen::KernelTrap& trap) {
  const codegen::KernelCall call{p + 2u * kernel.dimensions, arrays_.data(), &context.stop->word()};
  codegen::KernelChunk chunk;
  std::ranges::copy(space_.low, chunk.low);
  std::ranges::copy(space_.high, chunk.high);
  chunk.partials = partials_.data();
  chunk.alone = 1;
  const KernelStatus status = code_(&call, &chunk);
  if (status != KernelStatus::kDone) {
    trap = chunk.trap;
    return status;
  }
  const std::vector<bytecode::Reduction>& reductions = kernel.record->reductions;
  std::uint64_t* const accumulators = p + 2u * kernel.dimensions + kernel.scalars;
  for (std::size_t i = 0; i < partials_.size(); ++i) {
    std::uint64_t& accumulator = accumulators[i % reductions.size()];
    accumulator = bytecode::combine(reductions[i % reductions.size()], accumulator, partials_[i]);
  }
  std::copy_n(accumulators, reductions.size(), p);
  return status;
}

}  // namespace dhpvm::vm
