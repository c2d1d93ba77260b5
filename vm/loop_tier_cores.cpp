// SPDX-License-Identifier: Apache-2.0
// Executions of loops on the cores of the host: in the interpreter, in baseline code, in optimised code.
#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "vm/device_loops.h"
#include "vm/isolate.h"
#include "vm/loop_tier.h"
#include "vm/runtime.h"
#include "vm/trap.h"
#include "vm/updated_arrays.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using codegen::KernelStatus;
using offload::IterationSpace;

// Between two checks for a compiled kernel, the interpreter does at most kBoxIterations iterations, and fewer if they
// take longer than kBoxTime.
constexpr std::uint64_t kBoxIterations = 1024;
constexpr std::chrono::microseconds kBoxTime{200};
// Fewer iterations that take no time are no measurement.
constexpr std::uint64_t kMeasuredIterations = 16;
// While iterations take at least this long, interpreted or in baseline code, the next one is not begun before better
// code has had as much time to become ready.
constexpr std::chrono::milliseconds kLongIteration{5};
// Seconds. A loop that the interpreter would need so long for lasts longer in baseline code, too, than optimised code
// takes to make, and has that at once.
constexpr double kLongLoop = 0.5;

}  // namespace

// Fetches the elements of the captured arrays from devices before the loop runs: threads of the pool cannot do that.
bool LoopTier::fetch_arrays(const HostExecution& execution) {
  for (std::size_t n = 0; n < execution.kernel.arrays; ++n) {
    auto* const array = reinterpret_cast<gc::Array*>(execution.references[n]);
    if (array == nullptr || array->writable == array->length) continue;
    // Closed, or lent by the host for reading: the accesses themselves report it.
    if (array->buffer == nullptr) continue;
    const offload::Footprint& footprint = execution.known.code.footprint();
    const offload::ArrayUse& use = footprint.arrays[n];
    const bool writes = !footprint.complete || use.is_written || use.is_updated;
    if (!writes && !use.is_read) continue;
    Context& context = execution.context;
    if (Status status = context.isolate->make_accessible(*array, writes); !status.ok()) {
      raise(context, std::move(status).error());
      return false;
    }
  }
  return true;
}

// The most lanes that the code should have: any number, unless that leaves too little parallel work, iterations or
// lanes of reductions, for all threads while each iteration is long enough for a thread of its own. Results must not
// depend on it.
unsigned LoopTier::lanes_for(const HostExecution& execution, const IterationSpace& space) const {
  // The lanes of a vector take about as long as this many iterations in a row.
  constexpr std::uint64_t kLanesWorth = 4;
  const bool reduces = execution.kernel.accumulators != 0;
  const std::uint64_t threads = pool_->size();
  std::uint64_t parts = *space.count();
  if (reduces) {
    parts = offload::reduction_blocks(space) *
            std::min<std::uint64_t>(space.extent(space.inner()), bytecode::kReductionLanes);
  }
  // The largest share of a thread: a round of lanes takes the same time with fewer of them, but there must be no
  // further round.
  const std::uint64_t share = parts / threads + (parts % threads != 0 ? 1 : 0);
  const bool suffices = reduces ? share > bytecode::kReductionLanes / 2 : share > kLanesWorth;
  if (threads < 2 || suffices) return LoopCode::kAnyLanes;
  if (execution.known.timing.expected() <= LoopTiming::kLongIteration) return LoopCode::kAnyLanes;
  if (!execution.known.code.has_exact_bits()) return LoopCode::kAnyLanes;
  return share <= kLanesWorth ? 1 : static_cast<unsigned>(std::bit_ceil(share));
}

// Has the kernel compiled if that is worth it. `iteration`: the time of one iteration so far; 0 if it is not known.
void LoopTier::request_kernel(const HostExecution& execution, unsigned lanes,
                              std::chrono::nanoseconds iteration) {
  const bool at_once = options_.mode == JitMode::kEager || options_.wait;
  LoopCode& code = execution.known.code;
  const LoopTiming& timing = execution.known.timing;
  if (!at_once && !timing.is_worth_compiling()) return;
  const auto when = at_once ? LoopCode::When::kNow : LoopCode::When::kInBackground;
  if (options_.mode == JitMode::kBaseline)
    return code.request_baseline(execution.variant, lanes, *service_, when, LoopCode::Kept::kBaseline);
  if (!at_once && begins_with_baseline(execution)) {
    if (!code.is_requested()) {
      if (iteration.count() == 0) return;  // a few boxes later it is known whether the loop will last
      const double seconds = std::chrono::duration<double>(iteration).count();
      const bool lasts = seconds * static_cast<double>(*execution.loop.space.count()) > kLongLoop;
      if (lasts) return code.request(execution.variant, lanes, *service_, when);
    }
    code.request_baseline(execution.variant, lanes, *service_, when, LoopCode::Kept::kAny);
    if (code.is_baseline_enough(execution.variant, timing)) return;
  }
  code.request(execution.variant, lanes, *service_, when);
}

// Whether the loop runs in baseline code first: only if its results have the same bits in both codes, and no device may
// be chosen for it, because that choice needs the speed of optimised code.
bool LoopTier::begins_with_baseline(const HostExecution& execution) const {
  if (service_->lists_kernels() || !execution.known.code.has_exact_bits()) return false;
  return devices_ == nullptr || !devices_->considers(*execution.kernel.record);
}

// Interprets the loop until it has been compiled, then runs it on the thread pool: in baseline code until there is
// optimised code.
bool LoopTier::run_on_cores(const HostExecution& execution, const IterationSpace& space) {
  if (!fetch_arrays(execution)) return false;
  Context& context = execution.context;
  const LoopCode& code = execution.known.code;
  const std::uint64_t count = *space.count();
  execution.known.timing.add_iterations(count);
  unsigned lanes = lanes_for(execution, space);
  request_kernel(execution, lanes, execution.known.timing.interpreted_on_average());
  if (context.profiler != nullptr) context.profiler->check(context, Profiler::Part::kCompiler);
  HostRest rest(space);
  while (!rest.remaining.empty()) {
    if (const auto* const compiled = code.find(execution.variant, lanes)) {
      const IterationSpace box = rest.remaining.take(count, 1);
      if (!run_native(execution, *compiled, *pool_, box, rest.open)) return false;
      rest.open.done = 0;
      continue;
    }
    const auto* const baseline = code.find_baseline(execution.variant);
    if (baseline != nullptr ? !run_baseline(execution, *baseline, lanes, rest)
                            : !interpret_next(execution, rest))
      return false;
    lanes = lanes_for(execution, space);
    request_kernel(execution, lanes, rest.is_measured ? rest.last_took : std::chrono::nanoseconds(0));
    const bool is_slow = rest.last_took > kLongIteration;
    if (is_slow && !rest.remaining.empty() && !wait_for_kernel(execution, lanes, rest.last_took))
      return false;
  }
  return true;
}

bool LoopTier::interpret_next(const HostExecution& execution, HostRest& rest) {
  const bool reduces = execution.kernel.accumulators != 0;
  offload::OpenBlock& open = rest.open;
  const auto begin = std::chrono::steady_clock::now();
  // Either whole blocks of reductions, or a part of one.
  const std::uint64_t left =
      reduces ? open.left(rest.remaining.front()) : std::numeric_limits<std::uint64_t>::max();
  const bool is_part = reduces && (open.done != 0 || rest.iterations < left);
  const std::uint64_t unit = !reduces || is_part ? 1 : bytecode::kReductionBlock;
  const IterationSpace box =
      rest.remaining.take(is_part ? std::min(rest.iterations, left) : rest.iterations, unit);
  if (!interpret_box(execution.context, execution.kernel, box, execution.window, execution.references,
                     is_part ? &open : nullptr, rest.iterations >= left)) {
    return false;
  }
  --execution.context.parallel_loops;
  if (progress_ != nullptr) progress_->add(*box.count());
  const auto spent = std::chrono::steady_clock::now() - begin;
  if (spent > kBoxTime) {
    rest.iterations = std::max<std::uint64_t>(rest.iterations / 2, 1);
  } else if (spent < kBoxTime / 4) {
    rest.iterations = std::min(rest.iterations * 4, kBoxIterations);
  }
  execution.known.timing.add_interpreted(spent, *box.count());
  rest.last_took = spent / *box.count();
  rest.is_measured = *box.count() >= kMeasuredIterations || spent >= kBoxTime / 4;
  return true;
}

// Two threads on two cores would take a third of the time from the thread that makes better code.
ThreadPool& LoopTier::pool_beside_compiler(bool is_compiling) {
  constexpr std::uint32_t kFewThreads = 2;
  if (!is_compiling || pool_->size() > kFewThreads) return *pool_;
  if (alone_ == nullptr) alone_ = std::make_unique<ThreadPool>(1);
  return *alone_;
}

// Runs iterations for about a millisecond: long enough that the time to wake the threads does not matter, and short
// enough to change to optimised code soon after that is ready.
bool LoopTier::run_baseline(const HostExecution& execution, const codegen::CompiledKernel& compiled,
                            unsigned lanes, HostRest& rest) {
  constexpr double kSeconds = 1e-3;
  constexpr double kMost = 1e12;
  LoopTiming& timing = execution.known.timing;
  ThreadPool& pool = pool_beside_compiler(execution.known.code.is_being_compiled(execution.variant, lanes));
  const double threads = pool.size();
  const double known = timing.profile(codegen::KernelTier::kBaseline).seconds_per_iteration;
  const double fit = known > 0 ? std::clamp(threads * kSeconds / known, threads, kMost) : threads;
  const bool is_part = rest.open.done != 0;
  const bool has_blocks = execution.kernel.accumulators != 0 && !is_part;
  const IterationSpace box =
      rest.remaining.take(is_part ? rest.open.left(rest.remaining.front()) : static_cast<std::uint64_t>(fit),
                          has_blocks ? bytecode::kReductionBlock : 1);
  const auto begin = std::chrono::steady_clock::now();
  if (!run_native(execution, compiled, pool, box, rest.open)) return false;
  const auto spent = std::chrono::steady_clock::now() - begin;
  rest.open.done = 0;
  timing.add_baseline(spent);
  rest.last_took = spent / *box.count();
  return true;
}

// Gives the background thread some time to compile. False if the program has trapped meanwhile.
bool LoopTier::wait_for_kernel(const HostExecution& execution, unsigned lanes,
                               std::chrono::nanoseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // Without a code generator, what was requested is never done.
  while (execution.known.code.is_being_compiled(execution.variant, lanes) && !service_->failure() &&
         std::chrono::steady_clock::now() < deadline) {
    if (!look_at_clock(execution.context)) return false;
    std::this_thread::sleep_for(kBoxTime);
  }
  return true;
}

// The window's accumulators hold the initial values, and afterwards the results. `open`: the block that the box is a
// part of, or null.
bool LoopTier::interpret_box(Context& context, const LinkedKernel& kernel, const IterationSpace& box,
                             std::vector<std::uint64_t>& window, const gc::Ref* r, offload::OpenBlock* open,
                             bool ends_block) {
  std::vector<std::uint64_t> own = window;
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    own[2 * d] = put(box.low[d]);
    own[2 * d + 1] = put(box.high[d]);
  }
  const bool done = open == nullptr ? interpret_loop(context, kernel, own.data(), r)
                                    : interpret_part(context, kernel, own.data(), r, *open, ends_block);
  if (!done) return false;
  std::copy_n(own.begin(), kernel.accumulators, window.end() - kernel.accumulators);
  return true;
}

bool LoopTier::run_native(const HostExecution& execution, const codegen::CompiledKernel& compiled,
                          ThreadPool& pool, const IterationSpace& box, const offload::OpenBlock& open) {
  Context& context = execution.context;
  const LinkedKernel& kernel = execution.kernel;
  offload::LoopProfile& profile = execution.known.timing.profile(compiled.tier());
  offload::HostLoop loop;
  loop.code = compiled.code();
  loop.scalars = execution.loop.scalars.data();
  loop.arrays = execution.loop.arrays.data();
  loop.space = box;
  loop.reductions = kernel.record->reductions;
  loop.width = compiled.width();
  loop.rows = compiled.rows();
  loop.panel_bytes = compiled.panel_bytes();
  loop.accumulators = execution.accumulators();
  if (open.done != 0) loop.open = &open;
  loop.progress = progress_.get();
  const std::vector<offload::UpdatedArray> updated = updated_arrays(linked_->module(), execution.loop);
  loop.array_count = execution.loop.arrays.size();
  loop.updated = updated;
  StopToken::Word stop(*context.stop);
  loop.stop = &stop.value();
  if (!look_at_clock(context)) return false;
  Result<offload::LoopOutcome> outcome = run_on_host(pool, loop, profile);
  if (context.profiler != nullptr) context.profiler->check(context, Profiler::Part::kCores);
  if (!outcome.ok()) {
    raise(context, std::move(outcome).error());
    return false;
  }
  context.parallel_iterations += outcome->iterations;
  context.fuel_batched += outcome->iterations;
  if (outcome->status == KernelStatus::kDone) {
    execution.known.history.ran_compiled(compiled, outcome->iterations);
    return true;
  }
  end_early(context, kernel, compiled, outcome->status, outcome->trap, execution.window.data(),
            execution.references);
  return false;
}

}  // namespace dhpvm::vm
