// SPDX-License-Identifier: Apache-2.0
#include "vm/isolate.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/memory_shortage.h"
#include "base/reservation_pool.h"
#include "offload/devices/device_base.h"
#include "offload/schedule/memory/buffer_pool.h"
#include "vm/context.h"
#include "vm/dead_registers.h"
#include "vm/device_loops.h"
#include "vm/loop_tier.h"
#include "vm/tier.h"

namespace dhpvm::vm {
namespace {

constexpr std::size_t kPage = 4096;

// The most bytes of unused buffers that the pool keeps.
constexpr std::size_t kMostCached = std::size_t{256} << 20;
// A loop in place is as fast as a serial one; a kernel has lanes, but has to be called. 512 lies between the 100 and
// the 1000 iterations at which both were measured; it was not measured itself.
constexpr std::uint64_t kMostInPlace = 512;

// The limit for the heap and off-heap arrays together: the rest is for code, stacks, marks and the pool's cache.
std::size_t usable(const SystemMemory& memory) {
  constexpr std::size_t kMostReserved = std::size_t{1} << 30;
  return memory.bytes - std::min(memory.bytes / 4, kMostReserved);
}

// The limit as heap and pool take it: for them 0 is no limit, so the smallest limit stands for 0.
std::size_t room_of(std::size_t limit) {
  return limit == Limits::kUnlimitedBytes ? 0 : std::max<std::size_t>(limit, 1);
}

// Passes operations of devices on to a profile, and then to the application's observer.
decltype(DeviceOptions::observer) telling(std::shared_ptr<DeviceTimes> times,
                                          decltype(DeviceOptions::observer) next) {
  return [times = std::move(times), next = std::move(next)](const std::string& device,
                                                            const offload::OperationRecord& record) {
    times->add(device, record);
    if (next) next(device, record);
  };
}

// Sets address space aside for the four stacks, and puts the outermost frame on them.
Status set_up_stacks(Context& context, const IsolateOptions& options) {
  if (options.limits.stack_bytes == Limits::kUnlimitedBytes)
    return Error(ErrorCode::kInvalidArgument,
                 "the stack needs a limit, because address space is set aside for it: give it a size");
  // Each of the four stacks could take the whole limit. Pages that are not touched cost nothing.
  const std::size_t stack_bytes = gc::round_up(options.limits.stack_bytes, kPage);
  const std::size_t each = stack_bytes + kPage;
  if (options.limits.stack_bytes <= std::numeric_limits<std::size_t>::max() / 8)
    context.stacks = take_reservation(options.address_space.get(), 4 * each, kPage);
  if (context.stacks.data() == nullptr) {
    return error(ErrorCode::kOutOfMemory,
                 "the system grants no address space for a stack of {} bytes: {}; or lower the stack limit",
                 stack_bytes, memory_shortage());
  }
  context.reference_stack = context.stacks.data() + each;
  context.p = reinterpret_cast<std::uint64_t*>(context.stacks.data());
  context.r = reinterpret_cast<gc::Ref*>(context.reference_stack);
  context.frame = reinterpret_cast<Frame*>(context.stacks.data() + 2 * each);
  *context.frame = Frame{};
  context.frame->function = &context.outermost;
  context.frame->stack_left = static_cast<std::int64_t>(stack_bytes);
  context.local_end = context.stacks.data() + 3 * each + stack_bytes;
  return {};
}

// Zeroes the four stacks for the next isolate. The first page of each stays resident, because most calls need no more,
// and giving a page back and getting it again takes longer than most isolates live.
void clean_stacks(const Reservation& stacks) {
  const std::size_t each = stacks.size() / 4;
  // Local arrays begin at the end of theirs, below a page that nothing uses.
  const std::size_t locals = stacks.size() - 2 * kPage;
  std::size_t clean = 0;
  for (const std::size_t first : {std::size_t{0}, each, 2 * each, locals}) {
    if (first > clean) stacks.discard(clean, first - clean);
    std::memset(stacks.data() + first, 0, kPage);
    clean = first + kPage;
  }
}

gc::HeapOptions heap_options_of(const IsolateOptions& options) {
  gc::HeapOptions result;
  result.limit_bytes = room_of(options.limits.heap_bytes);
  result.nursery_bytes = options.nursery_bytes;
  result.stress = options.gc_stress;
  result.verify = options.gc_verify;
  result.tracer = options.tracer;
  result.external_budget_bytes = room_of(options.limits.off_heap_bytes);
  result.memory_bytes = usable(options.limits.memory);
  result.address_space = options.address_space.get();
  result.thread_pool = options.thread_pool.get();
  return result;
}

}  // namespace

Isolate::Isolate(std::shared_ptr<const LinkedModule> linked, const IsolateOptions& options)
    : linked_(std::move(linked)),
      options_(options),
      context_(std::make_unique<Context>()),
      dead_registers_(std::make_unique<DeadRegisters>()) {}

Isolate::~Isolate() {
  // Destroy devices first: they wait for operations in flight. Then the heap, whose cleaners close its buffers.
  std::shared_ptr<void> devices = loops_ == nullptr ? nullptr : loops_->leave_devices();
  loops_.reset();
  tier_.reset();
  heap_.reset();
  if (options_.address_space != nullptr && context_->stacks.data() != nullptr) {
    clean_stacks(context_->stacks);
    options_.address_space->give_back(std::move(context_->stacks));
  }
  if (devices != nullptr) {
    // Launches that nobody can interrupt still use the memory of buffers.
    struct Left {
      std::unique_ptr<offload::BufferPool> pool;
      std::shared_ptr<void> devices;
    };
    auto left = std::make_shared<Left>(Left{std::move(pool_), std::move(devices)});
    options_.compile_service->background().begin([left = std::move(left)]() mutable { left.reset(); });
    return;
  }
  if (pool_ == nullptr || options_.left_buffer_bytes == nullptr) return;
  const offload::BufferPoolStats left = pool_->stats();
  *options_.left_buffer_bytes += left.owned_bytes + left.quarantined_bytes;
}

Result<std::unique_ptr<Isolate>> Isolate::create(std::shared_ptr<const LinkedModule> linked,
                                                 const IsolateOptions& options) {
  std::unique_ptr<Isolate> isolate(new Isolate(std::move(linked), options));
  DHPVM_TRY(isolate->start());
  return isolate;
}

Status Isolate::start() {
  Context& context = *context_;
  DHPVM_TRY(set_up_stacks(context, options_));
  context.string_constants.resize(linked_->module().strings.size());

  pool_ = std::make_unique<offload::BufferPool>(
      offload::BufferPoolOptions{.budget_bytes = room_of(options_.limits.off_heap_bytes),
                                 .cache_bytes = std::min(kMostCached, usable(options_.limits.memory) / 16)});
  gc::HeapOptions heap_options = heap_options_of(options_);
  heap_options.release_memory = [this] { pool_->release_idle(); };
  DHPVM_ASSIGN(heap_, gc::Heap::create(heap_options, linked_->types(), *this));

  if (options_.profiled_code != nullptr) {
    context.profiler = std::make_unique<Profiler>(linked_, options_.profiled_code);
    options_.devices.observer =
        telling(context.profiler->device_times(), std::move(options_.devices.observer));
  }
  context.functions = linked_->functions().data();
  if (options_.count_lines) context.executions.resize(linked_->module().code.size());
  const bool all_interpreted = options_.check_races || options_.count_lines;
  if (options_.jit.mode != JitMode::kOff && options_.compile_service != nullptr && !all_interpreted) {
    tier_ = std::make_unique<Tier>(linked_, options_.jit, options_.compile_service);
    if (options_.jit.mode == JitMode::kEager) DHPVM_TRY(tier_->compile_everything());
    context.tier = tier_.get();
    context.batch = std::max(options_.jit.sample_interval, 1u);
    context.functions = tier_->functions();
    context.bodies = tier_->bodies();
    loops_ = std::make_unique<LoopTier>(linked_, options_.jit, options_.compile_service, options_.thread_pool,
                                        options_.alarm);
    context.loops = loops_.get();
    if (options_.devices.registry != nullptr) {
      auto devices = std::make_unique<DeviceLoops>(linked_, options_.compile_service, *pool_, *this);
      DHPVM_TRY(devices->open_devices());
      loops_->set_devices(std::move(devices));
    }
  }
  context.area = heap_->allocation_area();
  context.types = linked_->types().data();
  context.strings = context.string_constants.data();
  context.linked = linked_.get();
  context.isolate = this;
  context.heap = heap_.get();
  context.stop = &stop_;
  set_fuel(options_.limits.fuel);
  if (options_.check_races) context.races = std::make_unique<RaceDetector>();
  if (options_.tracer != nullptr) {
    context.tracer = options_.tracer;
    context.track = options_.tracer->add_track("interpreter");
  }
  return {};
}

std::vector<ProfileStack> Isolate::profile() const {
  return context_->profiler == nullptr ? std::vector<ProfileStack>() : context_->profiler->stacks();
}

std::vector<LineCount> Isolate::line_counts() const {
  std::vector<LineCount> counts;
  const std::vector<std::uint64_t>& executions = context_->executions;
  if (executions.empty()) return counts;
  const bytecode::Module& module = linked_->module();
  for (const bytecode::Function& function : module.functions) {
    // A line has several pieces of code if other lines come between them, as in the head of a loop: the count of the
    // line is that of the piece that was run most often.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> most;
    for (const bytecode::Line& line : function.lines) {
      if (line.file == bytecode::kNoIndex) continue;
      std::uint64_t& count = most[{line.file, line.line}];
      count = std::max(count, executions[function.code_offset + line.pc]);
    }
    for (const auto& [place, count] : most) {
      counts.push_back({module.strings[place.first], place.second, count});
    }
  }
  return counts;
}

std::string Isolate::explain_loops() const { return loops_ == nullptr ? std::string() : loops_->explain(); }

std::vector<DeviceUse> Isolate::devices() const {
  return loops_ == nullptr || loops_->devices() == nullptr ? std::vector<DeviceUse>()
                                                           : loops_->devices()->devices();
}

// The registers of all active calls. Their windows overlap, and a caller's may reach beyond its callee's:
// everything up to the furthest end is scanned, so that no reference in it ever dangles.
void Isolate::visit_roots(gc::RootVisitor& visitor) {
  const Context& context = *context_;
  auto* const bottom = reinterpret_cast<gc::Ref*>(context.reference_stack);
  const gc::Ref* end = context.r + context.frame->function->reference_registers;
  for (const Frame* frame = context.frame; frame->caller_r != nullptr; --frame) {
    end = std::max<const gc::Ref*>(end, frame->caller_r + (frame - 1)->function->reference_registers);
  }
  visitor.visit_range(bottom, static_cast<std::size_t>(end - bottom));
}

void Isolate::drop_dead_roots() { dead_registers_->clear(*context_); }

std::uint64_t Isolate::fuel_left() const {
  const Context& context = *context_;
  if (!context.fuel_limited) return Limits::kUnlimitedFuel;
  return context.fuel_left + static_cast<std::uint64_t>(context.ticks);
}

void Isolate::set_fuel(std::uint64_t fuel) {
  Context& context = *context_;
  context.fuel_batched -= static_cast<std::uint64_t>(context.ticks);
  context.ticks = 0;
  context.fuel_left = fuel;
  context.fuel_limited = fuel != Limits::kUnlimitedFuel;
  context.most_in_place = may_run_loops_in_place() ? kMostInPlace : 0;
}

// Whether nothing needs to see or count every parallel loop. When all functions are compiled at once, as in tests,
// loops are compiled as well.
bool Isolate::may_run_loops_in_place() const {
  if (loops_ == nullptr || context_->fuel_limited || options_.jit.mode == JitMode::kEager) return false;
  const bool devices_choose = options_.devices.registry == nullptr || options_.devices.names == "auto";
  return devices_choose && options_.tracer == nullptr;
}

IsolateStats Isolate::stats() const {
  const Context& context = *context_;
  IsolateStats stats;
  stats.host_calls = context.host_calls;
  stats.fuel_used = context.fuel_batched - static_cast<std::uint64_t>(context.ticks);
  stats.safepoints = context.safepoints;
  stats.parallel_loops = context.parallel_loops;
  stats.parallel_iterations = context.parallel_iterations;
  stats.slow_accesses = context.slow_accesses;
  stats.fetches = context.fetches;
  stats.run_time = context.run_time;
  stats.off_heap_bytes = context.off_heap_bytes;
  stats.off_heap_peak_bytes = context.off_heap_peak_bytes;
  if (loops_ != nullptr && loops_->devices() != nullptr) stats.devices = loops_->devices()->totals();
  stats.heap = heap_->stats();
  return stats;
}

// Beyond this limit the system would end the process.
Error Isolate::out_of_system_memory(ErrorCode code, std::string_view what) const {
  const SystemMemory& memory = options_.limits.memory;
  return error(
      code,
      "no room for {}: the program's memory, with {} for arrays outside the heap, has reached what may be "
      "used "
      "of {} ({}); raise that limit, or let the program use less. Most memory in the heap is taken by:\n{}",
      what, offload::bytes_text(context_->off_heap_bytes), offload::bytes_text(memory.bytes), memory.source,
      heap_->census());
}

void Isolate::rest(gc::IdleWatch::Wait wait) { heap_->rest(wait); }

Error Isolate::out_of_memory(std::string_view what) const {
  const std::size_t limit = options_.limits.heap_bytes;
  if (heap_->shortfall() == gc::Shortfall::kMemory)
    return out_of_system_memory(ErrorCode::kOutOfMemory, what);
  if (heap_->shortfall() == gc::Shortfall::kSystem) {
    return error(ErrorCode::kOutOfMemory,
                 "the system has no memory for {}, although the heap's own limit is not reached: {}", what,
                 memory_shortage());
  }
  return error(
      ErrorCode::kOutOfMemory,
      "no room for {} within the heap limit of {}; raise the limit if this is intended. Most memory is "
      "taken by:\n{}",
      what, offload::bytes_text(limit), heap_->census());
}

std::optional<Error> Isolate::take_caught(std::int64_t number) {
  std::vector<Error>& kept = context_->catching.kept;
  if (number < 0 || static_cast<std::size_t>(number) >= kept.size()) return std::nullopt;
  Error taken = std::move(kept[static_cast<std::size_t>(number)]);
  kept.erase(kept.begin() + number, kept.end());
  return taken;
}

}  // namespace dhpvm::vm
