// SPDX-License-Identifier: Apache-2.0
#include "vm/loop_tier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "offload/devices/small_indices.h"
#include "vm/captured_arrays.h"
#include "vm/device_loops.h"
#include "vm/isolate.h"
#include "vm/kernel_trap.h"
#include "vm/runtime.h"
#include "vm/trap.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using codegen::KernelStatus;
using offload::IterationSpace;

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

std::shared_ptr<void> LoopTier::leave_devices() { return devices_ == nullptr ? nullptr : devices_->leave(); }

Status LoopTier::release_buffers() { return devices_ == nullptr ? Status() : devices_->release_buffers(); }

std::uint32_t LoopTier::number_of(const LinkedKernel& kernel) const {
  return static_cast<std::uint32_t>(&kernel - linked_->kernels().data());
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
