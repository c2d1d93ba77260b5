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
#include "bytecode/decode.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/schedule/memory/buffer.h"
#include "vm/device_loops.h"
#include "vm/isolate.h"
#include "vm/operands.h"
#include "vm/runtime.h"
#include "vm/trap.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using codegen::KernelSite;
using codegen::KernelStatus;
using offload::IterationSpace;

// A loop is worth a compilation after this many iterations in all, or after so long in the interpreter.
constexpr std::uint64_t kWorthCompiling = 512;
constexpr std::chrono::microseconds kLongEnough{50};
// Between two looks at whether the kernel has been compiled, the interpreter does at most so many iterations, and fewer if they
// take longer than this.
constexpr std::uint64_t kBoxIterations = 1024;
constexpr std::chrono::microseconds kBoxTime{200};
// An iteration that takes so long in the interpreter is not begun while the kernel may be ready in as much time.
constexpr std::chrono::milliseconds kLongInterpretation{5};
// In seconds, of compiled code: an iteration this long is worth waking a thread for.
constexpr double kLongIteration = 20e-6;

IterationSpace space_of(const LinkedKernel& kernel, const std::uint64_t* window) {
  IterationSpace space;
  space.dimensions = kernel.dimensions;
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    space.low[d] = get<std::int64_t>(window[2 * d]);
    space.high[d] = get<std::int64_t>(window[2 * d + 1]);
  }
  return space;
}

codegen::KernelArray describe(const Context& context, gc::Ref reference) {
  codegen::KernelArray described;
  if (reference == nullptr) {
    described.length = -1;
    return described;
  }
  const auto& array = *reinterpret_cast<const gc::Array*>(reference);
  described.data = array.data;
  // Of an array that is not lent the host may use all elements once it has asked for them.
  described.readable = array.buffer != nullptr ? array.length : array.readable;
  described.writable = array.buffer != nullptr ? array.length : array.writable;
  described.length = array.length;
  const std::int64_t vector[] = {array.length, 1, 1};
  const bool is_vector = context.types[array.header.type].size == sizeof(gc::Array);
  std::copy_n(is_vector ? vector : reinterpret_cast<const gc::MultiArray&>(array).dims, 3, described.dims);
  return described;
}

// Whether an iteration has the same bits as a lane and by itself.
bool has_exact_bits(const bytecode::Module& module, const bytecode::KernelRecord& kernel) {
  if (kernel.fast_math) return false;
  std::vector<std::uint32_t> functions = {kernel.function};
  for (std::size_t next = 0; next < functions.size(); ++next) {
    const bytecode::Function& function = module.functions[functions[next]];
    for (std::uint32_t pc = 0; pc < function.code_size;) {
      const bytecode::Word word = module.code[function.code_offset + pc];
      const auto op = static_cast<bytecode::Op>(bytecode::op_of(word));
      if (bytecode::is_approximate(op)) return false;
      const std::uint32_t callee = bytecode::c_of(word);
      if (op == bytecode::Op::kCall && std::ranges::find(functions, callee) == functions.end()) {
        functions.push_back(callee);
      }
      pc += bytecode::kDecode[bytecode::op_of(word)].words;
    }
  }
  return true;
}

// Sizes that loops inside of an iteration have, so small that these are best written out: along any dimension but the first,
// which is how many there are of something.
std::vector<codegen::KnownDimension> small_dimensions(const bytecode::Module& module,
                                                      const bytecode::KernelRecord& kernel,
                                                      std::span<const codegen::KernelArray> arrays) {
  constexpr std::int64_t kSmall = 16;
  std::vector<codegen::KnownDimension> known;
  std::uint32_t array = 0;
  for (const bytecode::ValueType& parameter : module.functions[kernel.function].signature.parameters) {
    if (!parameter.is_ref()) continue;
    const std::uint32_t rank = module.types[parameter.type].rank;
    for (std::uint32_t d = 1; d < rank && arrays[array].length >= 0; ++d) {
      const std::int64_t size = arrays[array].dims[d];
      if (size >= 1 && size <= kSmall) known.push_back({array, d, size});
    }
    ++array;
  }
  return known;
}

// "array 1 has 8 along dimension 2, ...": numbers as the rest of explain() has them.
std::string sizes_text(const std::vector<codegen::KnownDimension>& dimensions) {
  std::string text;
  for (const codegen::KnownDimension& known : dimensions) {
    text += fmt::format("{}array {} has {} along dimension {}", text.empty() ? "" : ", ", known.array + 1,
                        known.value, known.dimension + 1);
  }
  return text;
}

// Iterations that take long in the interpreter take long in any case, so that no time need be spent on trying how long.
// In seconds; 0 where they are short.
double guess_speed(std::chrono::nanoseconds interpreted, std::uint64_t iterations) {
  constexpr double kMostGained = 64;
  const double seconds = std::chrono::duration<double>(interpreted).count();
  const double guess = seconds / static_cast<double>(iterations) / kMostGained;
  return guess > kLongIteration ? guess : 0;
}

}  // namespace

LoopTier::LoopTier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
                   std::shared_ptr<CompileService> service, std::shared_ptr<ThreadPool> pool,
                   std::shared_ptr<Alarm> alarm)
    : linked_(std::move(linked)),
      options_(options),
      service_(std::move(service)),
      pool_(std::move(pool)),
      alarm_(std::move(alarm)),
      entries_(linked_->kernels().size()) {}

LoopTier::~LoopTier() = default;

void LoopTier::set_devices(std::unique_ptr<DeviceLoops> devices) { devices_ = std::move(devices); }

Status LoopTier::release_buffers() { return devices_ == nullptr ? Status() : devices_->release_buffers(); }

const offload::Footprint& LoopTier::footprint_of(const LinkedKernel& kernel, Entry& entry) {
  if (!entry.footprint) entry.footprint = offload::analyse(linked_->module(), *kernel.record);
  return *entry.footprint;
}

// What devices have of the captured arrays is fetched before the loop runs, for a thread of the pool has nobody to ask;
// and no more than the loop needs.
bool LoopTier::fetch_arrays(Context& context, const LinkedKernel& kernel, Entry& entry, const gc::Ref* r) {
  for (std::size_t n = 0; n < kernel.arrays; ++n) {
    auto* const array = reinterpret_cast<gc::Array*>(r[n]);
    if (array == nullptr || array->writable == array->length) continue;
    // Closed, or lent by the host for reading: the accesses themselves tell.
    if (array->buffer == nullptr) continue;
    const offload::Footprint& footprint = footprint_of(kernel, entry);
    const offload::ArrayUse& use = footprint.arrays[n];
    const bool writes = !footprint.complete || use.is_written || use.is_updated;
    if (!writes && !use.is_read) continue;
    if (Status status = context.isolate->make_accessible(*array, writes); !status.ok()) {
      raise(context, std::move(status).error());
      return false;
    }
  }
  return true;
}

LoopTier::Variant LoopTier::choose(const LinkedKernel& kernel, Entry& entry,
                                   const offload::LoopChunk& execution) {
  const offload::Footprint& footprint = footprint_of(kernel, entry);
  if (!entry.proven) {
    offload::Ranges ranges(footprint, execution);
    // What holds in the first execution will mostly hold in all.
    entry.proven.emplace();
    for (std::uint32_t index = 0; index < footprint.accesses.size(); ++index) {
      const offload::Access& access = footprint.accesses[index];
      if (access.provable && ranges.cannot_fail(access)) entry.proven->push_back(index);
    }
    entry.dimensions = small_dimensions(linked_->module(), *kernel.record, execution.arrays);
  }
  if (entry.proven->empty()) return kChecked;
  offload::Ranges ranges(footprint, execution);
  const auto fails = std::ranges::find_if(
      *entry.proven, [&](std::uint32_t index) { return !ranges.cannot_fail(footprint.accesses[index]); });
  entry.unproven = fails == entry.proven->end() ? offload::kNothing : *fails;
  if (fails != entry.proven->end()) return kChecked;
  const bool fits = std::ranges::all_of(entry.dimensions, [&](const codegen::KnownDimension& known) {
    return execution.arrays[known.array].dims[known.dimension] == known.value;
  });
  return fits && !entry.dimensions.empty() ? kSized : kProven;
}

std::set<codegen::CallPath> LoopTier::proven_paths(const LinkedKernel& kernel, const Entry& entry,
                                                   Variant variant) const {
  if (variant == kChecked) return {};
  return offload::paths_of(linked_->module(), *kernel.record, *entry.footprint, *entry.proven);
}

// How many lanes the code should have at most: as many as suit it, unless what can be done at the same time, iterations or the
// lanes of reductions, is then too little for all threads, while each iteration takes so long that it is worth a thread's
// while. Results must not depend on it.
unsigned LoopTier::lanes_for(const LinkedKernel& kernel, Entry& entry, const IterationSpace& space) const {
  // The lanes of a vector take about as long as so many iterations in a row.
  constexpr std::uint64_t kLanesWorth = 4;
  const std::uint64_t threads = pool_->size();
  std::uint64_t parts = *space.count();
  if (kernel.accumulators != 0) {
    parts = offload::reduction_blocks(space) *
            std::min<std::uint64_t>(space.extent(space.inner()), bytecode::kReductionLanes);
  }
  // Lanes that a thread has besides may take no time at all, but never does another round of them.
  const std::uint64_t share = parts / threads + (parts % threads != 0 ? 1 : 0);
  const bool suffices =
      kernel.accumulators == 0 ? share > kLanesWorth : share > bytecode::kReductionLanes / 2;
  if (threads < 2 || suffices) return kAnyLanes;
  const double measured = entry.profile.seconds_per_iteration;
  if ((measured > 0 ? measured : entry.guess) <= kLongIteration) return kAnyLanes;
  if (!entry.has_exact_bits) entry.has_exact_bits = has_exact_bits(linked_->module(), *kernel.record);
  if (!*entry.has_exact_bits) return kAnyLanes;
  return share <= kLanesWorth ? 1 : static_cast<unsigned>(std::bit_ceil(share));
}

// The code for so many lanes, or for any number of them until that has been compiled; null if there is neither.
const LoopTier::Slot* LoopTier::compiled(const Entry& entry, Variant variant, unsigned most_lanes) {
  for (const unsigned lanes : {most_lanes, kAnyLanes}) {
    const auto slot = entry.slots[variant].find(lanes);
    if (slot == entry.slots[variant].end()) continue;
    if (slot->second->done.load(std::memory_order_acquire) && slot->second->kernel != nullptr)
      return slot->second.get();
  }
  return nullptr;
}

// Has the kernel compiled if that is worth it.
void LoopTier::consider(const LinkedKernel& kernel, Entry& entry, Variant variant, unsigned most_lanes,
                        std::uint64_t iterations) {
  entry.iterations += iterations;
  const bool at_once = options_.mode == JitMode::kEager || options_.wait;
  const bool is_worth_it = entry.iterations >= kWorthCompiling || entry.interpreted >= kLongEnough;
  if (entry.slots[variant].contains(most_lanes) || (!at_once && !is_worth_it)) return;
  const Slot* const any = compiled(entry, variant, kAnyLanes);
  if (any != nullptr && any->kernel->width() <= most_lanes) return;
  const auto slot = std::make_shared<Slot>();
  entry.slots[variant].emplace(most_lanes, slot);
  const auto index = static_cast<std::uint32_t>(&kernel - linked_->kernels().data());
  std::set<codegen::CallPath> proven = proven_paths(kernel, entry, variant);
  std::vector<codegen::KnownDimension> dimensions;
  if (variant == kSized) dimensions = entry.dimensions;
  auto job = [slot, linked = linked_, index, most_lanes, proven = std::move(proven),
              dimensions = std::move(dimensions)](codegen::CodeGenerator& generator) {
    codegen::KernelRequest request;
    request.most_lanes = most_lanes;
    request.module = &linked->module();
    request.kernel = index;
    request.proven = proven;
    request.dimensions = dimensions;
    auto compiled = generator.compile(request);
    if (compiled.ok()) {
      slot->kernel = std::move(compiled).value();
    } else {
      slot->failure = compiled.error().message();
    }
    slot->done.store(true, std::memory_order_release);
  };
  if (!at_once) {
    service_->add(std::move(job));
  } else {
    service_->run(job);
  }
}

bool LoopTier::run(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r) {
  const std::size_t results = kernel.accumulators;
  std::vector<std::uint64_t> window(p, p + 2 * kernel.dimensions + kernel.scalars + results);
  const IterationSpace space = space_of(kernel, p);
  const std::optional<std::uint64_t> count = space.count();
  Entry& entry = entries_[static_cast<std::size_t>(&kernel - linked_->kernels().data())];
  ++entry.executions;
  entry.fuel_was_limited = context.fuel_limited;
  // The count of fuel is exact only in the interpreter, and a loop of 2^63 iterations ends nowhere.
  if (context.fuel_limited || !count) {
    if (!interpret_box(context, kernel, space, window, r, nullptr, true)) return false;
  } else if (*count != 0) {
    ++context.parallel_loops;
    std::vector<codegen::KernelArray> arrays;
    for (std::size_t n = 0; n < kernel.arrays; ++n) arrays.push_back(describe(context, r[n]));
    const Variant variant = choose(
        kernel, entry, {space, std::span(window).subspan(2 * kernel.dimensions, kernel.scalars), arrays});
    const auto boxes = offload(context, kernel, entry, variant, space, arrays, window, r);
    if (!boxes) return false;
    for (const IterationSpace& box : *boxes) {
      if (!run_on_cores(context, kernel, entry, variant, box, arrays, window, r)) return false;
    }
  }
  std::copy_n(window.end() - static_cast<std::ptrdiff_t>(results), results, p);
  return true;
}

// Has a device run the loop if that is wanted; what is left for the host. Nothing: the program has trapped.
std::optional<std::vector<IterationSpace>> LoopTier::offload(
    Context& context, const LinkedKernel& kernel, Entry& entry, Variant variant, const IterationSpace& space,
    std::span<const codegen::KernelArray> arrays, std::vector<std::uint64_t>& window, const gc::Ref* r) {
  const auto number = static_cast<std::uint32_t>(&kernel - linked_->kernels().data());
  const double host_seconds =
      entry.profile.seconds_per_iteration * static_cast<double>(*space.count()) / pool_->size();
  if (devices_ == nullptr || !devices_->may_offload(*kernel.record) ||
      devices_->is_too_short(*kernel.record, number, host_seconds))
    return std::vector<IterationSpace>{space};
  std::vector<offload::LoopArray> captured;
  for (std::size_t n = 0; n < kernel.arrays; ++n) {
    offload::LoopArray& array = captured.emplace_back();
    array.host = arrays[n];
    if (r[n] == nullptr) continue;
    const auto& object = *reinterpret_cast<const gc::Array*>(r[n]);
    array.element_bytes = context.types[object.header.type].element_size;
    array.buffer = static_cast<offload::Buffer*>(object.buffer);
  }
  DeviceLoops::Execution execution;
  execution.kernel = &kernel;
  execution.number = number;
  execution.variant = variant;
  execution.proven = proven_paths(kernel, entry, variant);
  if (variant != kChecked) execution.proven_accesses = *entry.proven;
  if (variant == kSized) execution.dimensions = entry.dimensions;
  execution.arrays = r;
  execution.accumulators = std::span(window).last(kernel.accumulators);
  execution.host_seconds = host_seconds;
  const std::string position = position_of(kernel);
  execution.position = position;
  execution.loop.footprint = &*entry.footprint;
  execution.loop.space = space;
  execution.loop.scalars = std::span(window).subspan(2 * kernel.dimensions, kernel.scalars);
  execution.loop.arrays = captured;
  execution.loop.reductions = kernel.record->reductions;
  execution.loop.label = execution.number;
  DeviceLoops::Outcome outcome = devices_->run(execution);
  if (outcome.failure) {
    raise(context, std::move(*outcome.failure));
    return std::nullopt;
  }
  context.parallel_iterations += outcome.iterations;
  context.fuel_batched += outcome.iterations;
  if (outcome.trap) {
    raise_trap(context, kernel, (*outcome.sites)[outcome.trap->site], *outcome.trap, r);
    return std::nullopt;
  }
  return std::move(outcome.remaining);
}

// Interpreted until the kernel has been compiled, then on the thread pool.
bool LoopTier::run_on_cores(Context& context, const LinkedKernel& kernel, Entry& entry, Variant variant,
                            const IterationSpace& space, std::span<const codegen::KernelArray> arrays,
                            std::vector<std::uint64_t>& window, const gc::Ref* r) {
  if (!fetch_arrays(context, kernel, entry, r)) return false;
  const std::uint64_t count = *space.count();
  unsigned lanes = lanes_for(kernel, entry, space);
  consider(kernel, entry, variant, lanes, count);
  offload::OpenBlock open;  // of reductions
  std::uint64_t iterations = 1;
  for (offload::RemainingSpace remaining(space); !remaining.empty();) {
    if (const Slot* const slot = compiled(entry, variant, lanes); slot != nullptr) {
      const IterationSpace rest = remaining.take(count, 1);
      const std::uint64_t before = context.parallel_iterations;
      if (entry.profile.seconds_per_iteration == 0) entry.profile.seconds_per_iteration = entry.guess;
      if (!run_native(context, kernel, *slot->kernel, entry.profile, rest, open, arrays, window, r))
        return false;
      open.done = 0;
      entry.native_iterations += context.parallel_iterations - before;
      entry.last = slot;
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    // Either whole blocks of reductions, or a part of one.
    const std::uint64_t left =
        kernel.accumulators == 0 ? std::numeric_limits<std::uint64_t>::max() : open.left(remaining.front());
    const bool is_part = kernel.accumulators != 0 && (open.done != 0 || iterations < left);
    const std::uint64_t unit = kernel.accumulators == 0 || is_part ? 1 : bytecode::kReductionBlock;
    const IterationSpace box = remaining.take(is_part ? std::min(iterations, left) : iterations, unit);
    if (!interpret_box(context, kernel, box, window, r, is_part ? &open : nullptr, iterations >= left))
      return false;
    --context.parallel_loops;
    const auto spent = std::chrono::steady_clock::now() - begin;
    if (spent > kBoxTime) {
      iterations = std::max<std::uint64_t>(iterations / 2, 1);
    } else if (spent < kBoxTime / 4) {
      iterations = std::min(iterations * 4, kBoxIterations);
    }
    entry.interpreted += spent;
    entry.interpreted_iterations += *box.count();
    entry.guess = guess_speed(entry.interpreted, entry.interpreted_iterations);
    lanes = lanes_for(kernel, entry, space);
    consider(kernel, entry, variant, lanes, 0);
    if (spent > kLongInterpretation * *box.count() && !remaining.empty()) {
      const auto slot = entry.slots[variant].find(lanes);
      if (slot != entry.slots[variant].end() && !wait_for(context, *slot->second, spent)) return false;
    }
  }
  return true;
}

// Gives the background thread some time to compile. False if the program has trapped meanwhile.
bool LoopTier::wait_for(Context& context, const Slot& slot, std::chrono::nanoseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!slot.done.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < deadline) {
    if (!look_at_clock(context)) return false;
    std::this_thread::sleep_for(kBoxTime);
  }
  return true;
}

// The accumulators in the window are the initial values, and then the results. `open`: of whose block the box is a part, or
// null.
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

bool LoopTier::run_native(Context& context, const LinkedKernel& kernel,
                          const codegen::CompiledKernel& compiled, offload::LoopProfile& profile,
                          const IterationSpace& box, const offload::OpenBlock& open,
                          std::span<const codegen::KernelArray> arrays, std::vector<std::uint64_t>& window,
                          const gc::Ref* r) {
  offload::HostLoop loop;
  loop.code = compiled.code();
  loop.scalars = window.data() + 2 * kernel.dimensions;
  loop.arrays = arrays.data();
  loop.space = box;
  loop.reductions = kernel.record->reductions;
  loop.width = compiled.width();
  loop.accumulators = std::span(window).last(kernel.accumulators);
  if (open.done != 0) loop.open = &open;
  loop.stop = &stop_;
  // An interrupt that came before this is still to be seen there; one that comes later sets the flag again.
  stop_.store(0);
  if (!look_at_clock(context)) return false;
  Result<offload::LoopOutcome> outcome = Error(ErrorCode::kInternal, "");
  if (context.deadline) {
    const Alarm::Setting setting(*alarm_, *context.deadline, stop_, kTimeIsUp);
    outcome = run_on_host(*pool_, loop, profile);
  } else {
    outcome = run_on_host(*pool_, loop, profile);
  }
  if (!outcome.ok()) {
    raise(context, std::move(outcome).error());
    return false;
  }
  context.parallel_iterations += outcome->iterations;
  context.fuel_batched += outcome->iterations;
  if (outcome->status == KernelStatus::kTrapped) {
    raise_trap(context, kernel, compiled.sites()[outcome->trap.site], outcome->trap, r);
    return false;
  }
  if (outcome->status == KernelStatus::kStopped) {
    // Nobody else stops loops; should the clock not agree by a hair, it will in a moment.
    while (look_at_clock(context)) {
    }
    return false;
  }
  return true;
}

// Sets up the frames that the interpreter would have, for message and stack trace.
void LoopTier::raise_trap(Context& context, const LinkedKernel& kernel, const KernelSite& site,
                          const codegen::KernelTrap& trap, const gc::Ref* r) {
  const bytecode::Word* const pc = context.pc;
  std::uint64_t* const outer_p = context.p;
  gc::Ref* const outer_r = context.r;
  Frame* const frame = context.frame;
  Loop& loop = context.loop;
  loop.kernel = &kernel;
  loop.site = pc;
  loop.inner = static_cast<std::uint16_t>(kernel.dimensions - 1);
  std::copy_n(trap.index, 3, loop.index);
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    // Only the index itself shows in the message.
    loop.low[d] = trap.index[d];
    loop.high[d] = trap.index[d] + 1;
  }
  loop.active = true;
  const bytecode::Word* return_pc = &kIterateCode;
  for (std::size_t n = site.calls.size(); n-- > 0;) {
    const LinkedFunction& function = linked_->functions()[site.calls[n].function];
    *++context.frame = {return_pc, outer_p, outer_r, &function, frame->stack_left};
    context.pc = linked_->code_of(function) + site.calls[n].pc;
    return_pc = context.pc + 1;  // behind the call
  }
  const LinkedFunction& innermost = *context.frame->function;
  std::vector<std::uint64_t> p(innermost.primitive_registers);
  std::vector<gc::Ref> references(innermost.reference_registers);
  const gc::Ref array = kernel.arrays == 0 ? nullptr : r[trap.array];
  place_operands(context, p.data(), references.data(), trap.operands, array);
  if (site.kind == KernelSite::Kind::kTrap) {
    raise(context, site.trap);
  } else if (array == nullptr) {
    raise(context, null_trap(context));
  } else {
    const bool write = site.kind == KernelSite::Kind::kWrite;
    Status status = context.isolate->make_accessible(*reinterpret_cast<gc::Array*>(array),
                                                     get<std::int64_t>(trap.operands[0]), write);
    raise(context, status.ok() ? Error(ErrorCode::kInternal,
                                       "a compiled loop found an element inaccessible that is "
                                       "accessible")
                               : std::move(status).error());
  }
  loop.active = false;
  context.pc = pc;
  context.p = outer_p;
  context.r = outer_r;
  context.frame = frame;
}

std::string LoopTier::position_of(const LinkedKernel& kernel) const {
  // The first instructions, which load constants, may have no line.
  const std::vector<bytecode::Line>& lines = kernel.function->source->lines;
  const auto first = std::ranges::find_if(lines, [](const bytecode::Line& line) { return line.line != 0; });
  const std::uint32_t pc = first == lines.end() ? 0 : first->pc;
  std::string position = position_text(*linked_, linked_->code_of(*kernel.function) + pc);
  return position.empty() ? std::string(linked_->module().name_of(*kernel.function->source)) : position;
}

std::string LoopTier::explain() const {
  std::string text;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].executions != 0) text += explain(linked_->kernels()[index], entries_[index]);
  }
  return text;
}

std::string LoopTier::explain(const LinkedKernel& kernel, const Entry& entry) const {
  const bytecode::Module& module = linked_->module();
  std::string text =
      fmt::format("parallel for at {} ({} executions)\n", position_of(kernel), entry.executions);
  if (devices_ != nullptr) {
    text += devices_->explain(static_cast<std::uint32_t>(&kernel - linked_->kernels().data()));
    if (entry.iterations == 0) return text;  // nothing of it has run here
  }
  if (entry.last == nullptr) {
    bool asked_for = false;
    std::string failure;
    for (const auto& slots : entry.slots) {
      for (const auto& [lanes, slot] : slots) {
        asked_for = true;
        if (slot->done.load(std::memory_order_acquire) && slot->kernel == nullptr) failure = slot->failure;
      }
    }
    text +=
        fmt::format("  interpreted, {}\n",
                    !failure.empty()         ? "because it could not be compiled: " + failure
                    : entry.fuel_was_limited ? "because fuel is limited, which is counted exactly only there"
                    : !asked_for             ? "because it has too few iterations to be worth compiling"
                                             : "because it was over before it had been compiled");
    return text;
  }
  text += fmt::format("  ran on the host: {} of {} iterations compiled, the rest interpreted meanwhile\n",
                      entry.native_iterations, entry.iterations);
  const codegen::CompiledKernel& compiled = *entry.last->kernel;
  if (compiled.width() == 1) {
    text += fmt::format("  one iteration at a time, because {}\n", compiled.scalar_reason());
  } else {
    text += fmt::format("  {} iterations at a time\n", compiled.width());
  }
  if (std::ranges::any_of(entry.slots[kSized],
                          [&](const auto& slot) { return slot.second.get() == entry.last; })) {
    text += fmt::format("  compiled for the small sizes of its arrays: {}\n", sizes_text(entry.dimensions));
  }
  const offload::Footprint& footprint = *entry.footprint;
  if (!footprint.complete) {
    text += fmt::format("  every access is checked, because {}\n", footprint.incomplete_reason);
  } else if (entry.unproven != offload::kNothing) {
    text += fmt::format("  every access is checked, because one may fail with these bounds: {}\n",
                        offload::place(module, footprint.accesses[entry.unproven]));
  } else {
    const auto is_access = [](const offload::Access& access) {
      return access.kind < offload::AccessKind::kIndex;
    };
    std::uint32_t checked = 0;
    std::string where;
    for (std::uint32_t index = 0; index < footprint.accesses.size(); ++index) {
      const offload::Access& access = footprint.accesses[index];
      if (!is_access(access) || std::ranges::binary_search(*entry.proven, index)) continue;
      ++checked;
      if (where.empty()) where = offload::place(module, access);
    }
    text += checked == 0
                ? std::string("  no access is checked: all are known to stay inside their arrays\n")
                : fmt::format(
                      "  {} accesses are checked, because their positions depend on data or could not "
                      "be followed; the first: {}\n",
                      checked, where);
  }
  for (std::size_t array = 0; array < footprint.arrays.size(); ++array) {
    if (footprint.arrays[array].reason.empty()) continue;
    text += fmt::format("  array {}: {}\n", array + 1, footprint.arrays[array].reason);
  }
  return text;
}

}  // namespace dhpvm::vm
