// SPDX-License-Identifier: Apache-2.0
// Parallel loops, one iteration after the other: the reference semantics of `parallel for`.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bytecode/reduction.h"
#include "vm/interpreter.h"
#include "vm/isolate.h"
#include "vm/loop_tier.h"
#include "vm/runtime.h"
#include "vm/trap.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using bytecode::kReductionBlock;
using bytecode::kReductionLanes;
using bytecode::Reduction;

const std::vector<Reduction>& reductions_of(const InterpretedLoop& loop) {
  return loop.kernel->record->reductions;
}

void start_block(InterpretedLoop& loop) {
  const std::vector<Reduction>& reductions = reductions_of(loop);
  loop.block_position = 0;
  for (std::size_t i = 0; i < loop.lanes.size(); ++i)
    loop.lanes[i] = identity(reductions[i % reductions.size()]);
}

// Combines the lanes of a finished block pairwise and folds the result onto the accumulators.
void finish_block(InterpretedLoop& loop) {
  const std::vector<Reduction>& reductions = reductions_of(loop);
  const std::size_t count = reductions.size();
  for (std::uint32_t distance = kReductionLanes / 2; distance > 0; distance /= 2) {
    for (std::uint32_t lane = 0; lane < distance; ++lane) {
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t& left = loop.lanes[lane * count + i];
        left = combine(reductions[i], left, loop.lanes[(lane + distance) * count + i]);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    loop.accumulators[i] = combine(reductions[i], loop.accumulators[i], loop.lanes[i]);
  }
  start_block(loop);
}

std::uint64_t* current_lane(InterpretedLoop& loop) {
  return loop.lanes.data() + loop.block_position % kReductionLanes * loop.accumulators.size();
}

// Sets up the captured scalars and the local arrays.
void restore(InterpretedLoop& loop) {
  const LinkedKernel& kernel = *loop.kernel;
  std::copy_n(loop.window + 2 * kernel.dimensions, kernel.scalars, loop.p + kernel.dimensions);
  std::memset(loop.frame->locals(loop.local_end), 0, kernel.function->local_bytes);
}

// The next index tuple in iteration order; false after the last.
bool advance(InterpretedLoop& loop) {
  const unsigned inner = loop.inner;
  const std::int64_t next = static_cast<std::int64_t>(static_cast<std::uint64_t>(loop.index[inner]) + 1);
  const bool row_ends = next >= loop.inner_high;
  if (!loop.simple && loop.begun) {
    // The kernel's results, its new accumulators, stand in its first registers.
    std::copy_n(loop.p, loop.accumulators.size(), current_lane(loop));
    ++loop.block_position;
    if (!loop.leaves_block_open && (loop.block_position == kReductionBlock || row_ends)) finish_block(loop);
  }
  loop.begun = true;
  loop.index[inner] = next;
  if (!row_ends) return true;
  loop.index[inner] = loop.low[inner];
  for (unsigned d = inner; d-- > 0;) {
    if (++loop.index[d] < loop.high[d]) return true;
    loop.index[d] = loop.low[d];
  }
  return false;
}

void trace(const Context& context) {
  if (context.tracer == nullptr) return;
  const LinkedFunction& function = *context.loop.kernel->function;
  context.tracer->slice(context.track,
                        "parallel for " + std::string(context.linked->module().name_of(*function.source)),
                        context.loop.begin, Tracer::Clock::now());
}

void finish(Context& context) {
  InterpretedLoop& loop = context.loop;
  std::uint64_t iterations = 1;
  for (unsigned d = 0; d <= loop.inner; ++d) {
    iterations *= static_cast<std::uint64_t>(loop.high[d]) - static_cast<std::uint64_t>(loop.low[d]);
  }
  context.parallel_iterations += iterations;
  std::ranges::copy(loop.accumulators, loop.window);
  loop.active = false;
  context.pc = loop.resume_pc;
  trace(context);
}

}  // namespace

std::uint64_t InterpretedLoop::linear_index() const {
  std::uint64_t linear = 0;
  for (unsigned d = 0; d <= inner; ++d) {
    linear *= static_cast<std::uint64_t>(high[d]) - static_cast<std::uint64_t>(low[d]);
    linear += static_cast<std::uint64_t>(index[d]) - static_cast<std::uint64_t>(low[d]);
  }
  return linear;
}

namespace {

// Leaves the registers at the first iteration, or, if there is none, at `resume`, behind the loop.
bool begin(Context& context, const LinkedKernel& kernel, std::uint64_t* window_p, const gc::Ref* window_r,
           const bytecode::Word* resume) {
  const LinkedFunction& function = *kernel.function;
  InterpretedLoop& loop = context.loop;
  ++context.parallel_loops;
  loop.kernel = &kernel;
  loop.window = window_p;
  loop.site = context.pc;
  loop.inner = static_cast<std::uint16_t>(kernel.dimensions - 1);
  bool empty = false;
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    loop.low[d] = get<std::int64_t>(loop.window[2 * d]);
    loop.high[d] = get<std::int64_t>(loop.window[2 * d + 1]);
    loop.index[d] = loop.low[d];
    empty = empty || loop.low[d] >= loop.high[d];
  }
  const std::uint64_t* const initial = loop.window + 2 * kernel.dimensions + kernel.scalars;
  loop.accumulators.assign(initial, initial + kernel.accumulators);
  if (empty) {
    std::ranges::copy(loop.accumulators, loop.window);
    context.pc = resume;
    return true;
  }

  const LinkedFunction& caller = *context.frame->function;
  const std::int64_t left = context.frame->stack_left - function.stack_cost;
  if (left < 0) {
    raise(context, TrapReason::kStackOverflow);
    return false;
  }
  loop.p = context.p + caller.primitive_registers;
  loop.r = context.r + caller.reference_registers;
  loop.code = function.code;
  loop.frame = context.frame + 1;
  loop.local_end = context.local_end;
  *loop.frame = {&kIterateCode, context.p, context.r, &function, left};
  loop.inner_high = loop.high[loop.inner];
  loop.simple = kernel.accumulators == 0;
  loop.restore = kernel.overwrites_scalars || function.local_bytes != 0;
  loop.resume_pc = resume;
  loop.begun = false;
  loop.leaves_block_open = false;
  loop.active = true;
  if (context.tracer != nullptr) loop.begin = Tracer::Clock::now();
  if (context.races != nullptr) context.races->clear();
  loop.lanes.resize(kReductionLanes * loop.accumulators.size());
  start_block(loop);
  // Copied once: nothing in a kernel collects, and a kernel cannot overwrite its arrays.
  std::copy_n(window_r, kernel.arrays, loop.r);
  std::fill(loop.r + kernel.arrays, loop.r + function.reference_registers, nullptr);
  restore(loop);
  // Begin one before the first iteration.
  loop.index[loop.inner] = static_cast<std::int64_t>(static_cast<std::uint64_t>(loop.low[loop.inner]) - 1);
  context.pc = &kIterateCode;
  return true;
}

// No longer loop would ever end, so such bounds are a mistake.
bool is_too_long(Context& context, const LinkedKernel& kernel, const std::uint64_t* p) {
  if (space_of(kernel, p).count()) return false;
  raise(context, Error(ErrorCode::kUserTrap, "a parallel loop has at most 2^63 - 1 iterations"));
  return true;
}

}  // namespace

bool begin_loop(Context& context) {
  const bytecode::Word word = *context.pc;
  const LinkedKernel& kernel = context.linked->kernels()[bytecode::c_of(word)];
  std::uint64_t* const p = context.p + bytecode::a_of(word);
  gc::Ref* const r = context.r + bytecode::b_of(word);
  const bytecode::Word* const next = context.pc + 1;
  if (is_too_long(context, kernel, p)) return false;
  if (context.loops == nullptr) return begin(context, kernel, p, r, next);
  if (!context.loops->run(context, kernel, p, r)) return false;
  context.pc = next;
  return true;
}

bool run_loop(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r) {
  if (is_too_long(context, kernel, p)) return false;
  return context.loops == nullptr ? interpret_loop(context, kernel, p, r)
                                  : context.loops->run(context, kernel, p, r);
}

namespace {

// The call that starts a loop from C++, and may catch its trap.
class Caller {
 public:
  explicit Caller(Context& context)
      : context_(context), pc_(context.pc), p_(context.p), r_(context.r), frame_(context.frame) {}

  // Runs the loop that has begun to its end, or to a trap. Returns to the call in either case.
  bool run() {
    interpret(context_);
    context_.pc = pc_;
    if (!context_.trap) return true;
    context_.loop.active = false;
    context_.p = p_;
    context_.r = r_;
    context_.frame = frame_;
    return false;
  }

 private:
  Context& context_;
  const bytecode::Word* pc_;
  std::uint64_t* p_;
  gc::Ref* r_;
  Frame* frame_;
};

}  // namespace

bool interpret_loop(Context& context, const LinkedKernel& kernel, std::uint64_t* p, const gc::Ref* r) {
  Caller caller(context);
  return begin(context, kernel, p, r, &kExitCode) && caller.run();
}

bool interpret_part(Context& context, const LinkedKernel& kernel, std::uint64_t* p, const gc::Ref* r,
                    offload::OpenBlock& open, bool ends_block) {
  Caller caller(context);
  if (!begin(context, kernel, p, r, &kExitCode)) return false;
  InterpretedLoop& loop = context.loop;
  const std::size_t count = loop.accumulators.size();
  const auto for_each_lane = [&](auto&& each) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t lane = 0; lane < kReductionLanes; ++lane)
        each(loop.lanes[lane * count + i], open.lanes[i * kReductionLanes + lane]);
    }
  };
  if (open.done == 0) open.begin(reductions_of(loop));
  for_each_lane([](std::uint64_t& here, const std::uint64_t& there) { here = there; });
  loop.block_position = static_cast<std::uint32_t>(open.done);
  loop.leaves_block_open = !ends_block;
  if (!caller.run()) return false;
  open.done = loop.block_position;
  for_each_lane([](const std::uint64_t& here, std::uint64_t& there) { there = here; });
  return true;
}

bool next_iteration(Context& context) {
  InterpretedLoop& loop = context.loop;
  if (!advance(loop)) {
    finish(context);
    return true;
  }
  if (--context.ticks < 0) {
    if (!refill_ticks(context)) return false;
    --context.ticks;
  }
  if (loop.restore) restore(loop);
  const LinkedKernel& kernel = *loop.kernel;
  for (unsigned d = 0; d <= loop.inner; ++d) loop.p[d] = put(loop.index[d]);
  std::copy_n(current_lane(loop), loop.accumulators.size(), loop.p + kernel.dimensions + kernel.scalars);
  context.pc = loop.code;
  context.p = loop.p;
  context.r = loop.r;
  context.frame = loop.frame;
  return true;
}

}  // namespace dhpvm::vm
