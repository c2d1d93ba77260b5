// SPDX-License-Identifier: Apache-2.0
#include "vm/loop_tier.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "offload/devices/small_indices.h"
#include "vm/captured_arrays.h"
#include "vm/device_loops.h"
#include "vm/isolate.h"
#include "vm/kernel_trap.h"
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
// While iterations take at least this long, interpreted or in baseline code, the next one is not begun before better
// code has had as much time to become ready.
constexpr std::chrono::milliseconds kLongIteration{5};

// Where a loop begins in the source, "blur.dhp:12".
std::string position_of(const LinkedModule& linked, const LinkedKernel& kernel) {
  // The first instructions, which load constants, may have no line.
  const std::vector<bytecode::Line>& lines = kernel.function->source->lines;
  const auto first = std::ranges::find_if(lines, [](const bytecode::Line& line) { return line.line != 0; });
  const std::uint32_t pc = first == lines.end() ? 0 : first->pc;
  std::string position = position_text(linked, linked.code_of(*kernel.function) + pc);
  return position.empty() ? std::string(linked.module().name_of(*kernel.function->source)) : position;
}

// A loop with block reductions in the program is two loops here: over the blocks, and over the elements.
std::string_view blocks_text(const bytecode::KernelSource& source) {
  if (!source.iterated.empty()) return ", over blocks of its iterations";
  const bool folds = std::ranges::any_of(source.arrays, &bytecode::KernelSource::Array::is_parts);
  return folds ? ", putting together what its blocks have" : "";
}

}  // namespace

IterationSpace space_of(const LinkedKernel& kernel, const std::uint64_t* window) {
  IterationSpace space;
  space.dimensions = kernel.dimensions;
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    space.low[d] = get<std::int64_t>(window[2 * d]);
    space.high[d] = get<std::int64_t>(window[2 * d + 1]);
  }
  return space;
}

LoopTier::LoopTier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
                   std::shared_ptr<CompileService> service, std::shared_ptr<ThreadPool> pool,
                   std::shared_ptr<Alarm> alarm)
    : linked_(std::move(linked)),
      options_(options),
      service_(std::move(service)),
      pool_(std::move(pool)),
      alarm_(std::move(alarm)) {
  loops_.reserve(linked_->kernels().size());
  for (std::uint32_t number = 0; number < linked_->kernels().size(); ++number) {
    loops_.emplace_back(LoopCode(linked_, number), position_of(*linked_, linked_->kernels()[number]));
  }
}

LoopTier::~LoopTier() = default;

void LoopTier::set_devices(std::unique_ptr<DeviceLoops> devices) { devices_ = std::move(devices); }

Status LoopTier::release_buffers() { return devices_ == nullptr ? Status() : devices_->release_buffers(); }

std::uint32_t LoopTier::number_of(const LinkedKernel& kernel) const {
  return static_cast<std::uint32_t>(&kernel - linked_->kernels().data());
}

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

// Has the kernel compiled if that is worth it.
void LoopTier::request_kernel(const HostExecution& execution, unsigned lanes) {
  const bool at_once = options_.mode == JitMode::kEager || options_.wait;
  LoopCode& code = execution.known.code;
  const LoopTiming& timing = execution.known.timing;
  if (!at_once && !timing.is_worth_compiling()) return;
  const auto when = at_once ? LoopCode::When::kNow : LoopCode::When::kInBackground;
  if (options_.mode == JitMode::kBaseline)
    return code.request_baseline(execution.variant, lanes, *service_, when, LoopCode::Kept::kBaseline);
  if (!at_once && begins_with_baseline(execution)) {
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

bool LoopTier::run(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r) {
  if (const codegen::CompiledKernel* const compiled = find_short(context, kernel, p, r))
    return run_short(context, kernel, *compiled, p, r);
  const std::size_t results = kernel.accumulators;
  std::vector<std::uint64_t> window(p, p + 2 * kernel.dimensions + kernel.scalars + results);
  const IterationSpace space = space_of(kernel, p);
  const std::optional<std::uint64_t> count = space.count();
  KnownLoop& known = loops_[number_of(kernel)];
  known.history.executed(context.fuel_limited ? LoopHistory::Fuel::kLimited : LoopHistory::Fuel::kUnlimited);
  // The count of fuel is exact only in the interpreter, and where no thread can watch the clock, the interpreter does.
  if (context.fuel_limited || !watch_deadline(context)) {
    if (devices_ != nullptr && count != 0 && !devices_->stays_on_host(*kernel.record, number_of(kernel), 0)) {
      constexpr std::string_view kReason = "only the interpreter can count fuel, or watch the deadline";
      if (auto refused = devices_->refuse_host(known.position, kReason)) {
        raise(context, std::move(*refused));
        return false;
      }
    }
    if (!interpret_box(context, kernel, space, window, r, nullptr, true)) return false;
  } else if (*count != 0) {
    ++context.parallel_loops;
    if (devices_ != nullptr) devices_->move_arrays(number_of(kernel), {r, kernel.arrays});
    const CapturedArrays captured(context, {r, kernel.arrays});
    offload::Loop loop;
    loop.space = space;
    loop.scalars = std::span(window).subspan(2 * kernel.dimensions, kernel.scalars);
    loop.arrays = captured.arrays;
    loop.storage = captured.storage;
    loop.footprint = &known.code.footprint();
    loop.reductions = kernel.record->reductions;
    loop.label = number_of(kernel);
    loop.position = known.position;
    const HostExecution execution{context, kernel, known, known.code.choose(loop), loop, window, r};
    const offload::LoopProgress::Execution told(progress_.get(), known.position, *count);
    const auto boxes = offload(execution);
    if (!boxes) return false;
    for (const IterationSpace& box : *boxes) {
      if (!run_on_cores(execution, box)) return false;
    }
  }
  std::copy_n(window.end() - static_cast<std::ptrdiff_t>(results), results, p);
  return true;
}

// The kernel for an execution that consists of one call of it; null if there is none.
const codegen::CompiledKernel* LoopTier::find_short(const Context& context, const LinkedKernel& kernel,
                                                    const std::uint64_t* p, const gc::Ref* r) {
  // The alarm for the deadline has to be set first.
  if (context.fuel_limited || (context.deadline && !context.deadline_alarm)) return nullptr;
  const std::uint32_t number = number_of(kernel);
  KnownLoop& known = loops_[number];
  const codegen::CompiledKernel* const found =
      known.short_loop.find(context, kernel, known.code, known.timing, pool_->size(), p, r);
  if (found == nullptr || devices_ == nullptr || !known.short_loop.is_new()) return found;
  const double host_seconds = known.timing.measured() * static_cast<double>(known.short_loop.iterations());
  if (devices_->stays_on_host(*kernel.record, number, host_seconds / pool_->size())) return found;
  known.short_loop.forget();
  return nullptr;
}

bool LoopTier::run_short(Context& context, const LinkedKernel& kernel,
                         const codegen::CompiledKernel& compiled, std::uint64_t* p, const gc::Ref* r) {
  KnownLoop& known = loops_[number_of(kernel)];
  const std::uint64_t iterations = known.short_loop.iterations();
  known.history.executed(LoopHistory::Fuel::kUnlimited);
  known.timing.add_iterations(iterations);
  ++context.parallel_loops;
  codegen::KernelTrap trap;
  const KernelStatus status = known.short_loop.run(context, kernel, p, trap);
  if (context.profiler != nullptr) context.profiler->check(context, Profiler::Part::kCores);
  if (status == KernelStatus::kDone) {
    context.parallel_iterations += iterations;
    context.fuel_batched += iterations;
    known.history.ran_compiled(compiled, iterations);
    return true;
  }
  end_early(context, kernel, compiled, status, trap, p, r);
  return false;
}

void LoopTier::raise_trap(Context& context, const LinkedKernel& kernel, const codegen::KernelSite& site,
                          const codegen::KernelTrap& trap, std::uint64_t* window, const gc::Ref* references) {
  // The kernel has named the block. If all arrays that it writes were made for the loop, run the block once more in the
  // interpreter, which traps in the iteration that the message should name.
  if (can_repeat_block(*linked_, kernel)) {
    const std::uint64_t* const scalars = window + 2 * kernel.dimensions;
    std::vector<std::uint64_t> own = {put(trap.index[0]), put(trap.index[0] + 1)};
    own.insert(own.end(), scalars, scalars + kernel.scalars + kernel.accumulators);
    if (!interpret_loop(context, kernel, own.data(), references)) return;
  }
  raise_kernel_trap(context, kernel, site, trap, window, references);
}

// Ends the loop with a trap: the kernel's, or that of a request to stop.
void LoopTier::end_early(Context& context, const LinkedKernel& kernel,
                         const codegen::CompiledKernel& compiled, KernelStatus status,
                         const codegen::KernelTrap& trap, std::uint64_t* window, const gc::Ref* references) {
  if (status == KernelStatus::kTrapped) {
    raise_trap(context, kernel, compiled.sites()[trap.site], trap, window, references);
    return;
  }
  if (!look_at_clock(context)) return;
  // The request came late: the call that it was meant for ends with it here.
  raise(context, Error(ErrorCode::kInterrupted, "the program was asked to stop"));
}

bool LoopTier::watch_deadline(Context& context) {
  if (!context.deadline || context.deadline_alarm) return true;
  if (!alarm_->start().ok()) return false;
  context.deadline_alarm.emplace(*alarm_, *context.deadline, *context.stop);
  return true;
}

// Runs the loop on a device if that pays, and returns the iterations that are left for the host. Nothing: the program
// has trapped.
std::optional<std::vector<IterationSpace>> LoopTier::offload(const HostExecution& execution) {
  const LinkedKernel& kernel = execution.kernel;
  const offload::Loop& loop = execution.loop;
  LoopCode& code = execution.known.code;
  const std::uint32_t number = number_of(kernel);
  const double host_seconds =
      execution.known.timing.measured() * static_cast<double>(*loop.space.count()) / pool_->size();
  if (devices_ == nullptr || devices_->stays_on_host(*kernel.record, number, host_seconds))
    return std::vector<IterationSpace>{loop.space};
  Context& context = execution.context;
  OffloadRequest request;
  request.kernel = {&kernel,
                    number,
                    code.proven_accesses(execution.variant),
                    code.dimensions(execution.variant),
                    static_cast<std::uint32_t>(execution.variant),
                    offload::has_small_indices(loop),
                    loop.position,
                    loop.footprint};
  request.loop = loop;
  request.arrays = execution.references;
  request.accumulators = execution.accumulators();
  request.host_seconds = host_seconds;
  request.is_host_known = execution.known.timing.is_known(host_seconds);
  request.progress = progress_.get();
  OffloadOutcome outcome = devices_->run(request);
  if (context.profiler != nullptr) context.profiler->check(context, Profiler::Part::kDevices);
  if (outcome.failure) {
    raise(context, std::move(*outcome.failure));
    return std::nullopt;
  }
  context.parallel_iterations += outcome.iterations;
  context.fuel_batched += outcome.iterations;
  if (outcome.trap) {
    raise_trap(context, kernel, (*outcome.sites)[outcome.trap->site], *outcome.trap, execution.window.data(),
               execution.references);
    return std::nullopt;
  }
  return std::move(outcome.remaining);
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
  request_kernel(execution, lanes);
  if (context.profiler != nullptr) context.profiler->check(context, Profiler::Part::kCompiler);
  HostRest rest(space);
  while (!rest.remaining.empty()) {
    if (const auto* const compiled = code.find(execution.variant, lanes)) {
      if (!run_native(execution, *compiled, rest.remaining.take(count, 1), rest.open)) return false;
      rest.open.done = 0;
      continue;
    }
    const auto* const baseline = code.find_baseline(execution.variant);
    if (baseline != nullptr ? !run_baseline(execution, *baseline, rest) : !interpret_next(execution, rest))
      return false;
    lanes = lanes_for(execution, space);
    request_kernel(execution, lanes);
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
  return true;
}

// Runs iterations for about a millisecond: long enough that the time to wake the threads does not matter, and short
// enough to change to optimised code soon after that is ready.
bool LoopTier::run_baseline(const HostExecution& execution, const codegen::CompiledKernel& compiled,
                            HostRest& rest) {
  constexpr double kSeconds = 1e-3;
  constexpr double kMost = 1e12;
  LoopTiming& timing = execution.known.timing;
  const double threads = pool_->size();
  const double known = timing.profile(codegen::KernelTier::kBaseline).seconds_per_iteration;
  const double fit = known > 0 ? std::clamp(threads * kSeconds / known, threads, kMost) : threads;
  const bool is_part = rest.open.done != 0;
  const bool has_blocks = execution.kernel.accumulators != 0 && !is_part;
  const IterationSpace box =
      rest.remaining.take(is_part ? rest.open.left(rest.remaining.front()) : static_cast<std::uint64_t>(fit),
                          has_blocks ? bytecode::kReductionBlock : 1);
  const auto begin = std::chrono::steady_clock::now();
  if (!run_native(execution, compiled, box, rest.open)) return false;
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
                          const IterationSpace& box, const offload::OpenBlock& open) {
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
  Result<offload::LoopOutcome> outcome = run_on_host(*pool_, loop, profile);
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

std::string LoopTier::explain() {
  const bytecode::Module& module = linked_->module();
  std::string text;
  for (std::uint32_t number = 0; number < loops_.size(); ++number) {
    KnownLoop& loop = loops_[number];
    if (loop.history.executions() == 0) continue;
    const bytecode::KernelRecord& kernel = module.kernels[number];
    const std::uint64_t executions = loop.history.executions();
    text += fmt::format("parallel for at {}{} ({} {})\n", loop.position, blocks_text(kernel.source),
                        executions, executions == 1 ? "execution" : "executions");
    if (devices_ != nullptr) {
      text += devices_->explain(number);
      // The iterations that run on the host are counted, except those for which fuel is limited.
      if (loop.timing.iterations() == 0 && !loop.history.is_fuel_limited()) continue;
    }
    // The background thread may not have loaded the generator yet, and runs no job where there is none.
    if (loop.code.is_requested()) loop.history.looked_for_generator(service_->generator().ok());
    text += loop.history.explain(module, kernel, loop.code, loop.timing.iterations());
  }
  return text;
}

}  // namespace dhpvm::vm
