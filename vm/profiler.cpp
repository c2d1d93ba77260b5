// SPDX-License-Identifier: Apache-2.0
#include "vm/profiler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "vm/context.h"

namespace dhpvm::vm {
namespace {

using bytecode::Word;

// A sample takes some 20 us in a recursion 40 calls deep, including the work of the thread that keeps the time: 1 % of
// the time. Measured as the least processor time of nine runs with and nine without, in turns, divided by the samples.
constexpr std::chrono::nanoseconds kInterval = std::chrono::milliseconds(2);

// The innermost frames of a stack, which are kept: an endless recursion would fill the memory with samples.
constexpr std::size_t kMostFrames = 200;

std::chrono::nanoseconds time_in_collections(const gc::Heap& heap) {
  const gc::HeapStats stats = heap.stats();
  return std::chrono::nanoseconds(stats.minor_pauses.total_ns() + stats.full_pauses.total_ns());
}

}  // namespace

Profiler::~Profiler() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
}

void Profiler::keep_time() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kInterval, [this] { return is_over_; }))
    is_due_.store(true, std::memory_order_relaxed);
}

void Profiler::begin(const Context& context) {
  // If the system refuses a thread, every checkpoint looks at the clock.
  if (!timer_.start_once("dhpvm-profile", [this] { keep_time(); }).ok()) is_due_ = true;
  due_ = Clock::now() + kInterval;
  collections_seen_ = context.heap->collections();
  collected_ = time_in_collections(*context.heap);
}

void Profiler::take(const Context& context, Part part, std::uint32_t detail) {
  const Clock::time_point now = Clock::now();
  if (timer_.is_running()) is_due_.store(false, std::memory_order_relaxed);
  if (now < due_) return;
  // All instants since the last sample belong to what has run since then.
  const std::int64_t instants = (now - due_) / kInterval + 1;
  due_ += instants * kInterval;
  std::chrono::nanoseconds time = instants * kInterval;
  Stack stack = stack_of(context);
  if (const std::uint64_t collections = context.heap->collections(); collections != collections_seen_) {
    collections_seen_ = collections;
    const std::chrono::nanoseconds all = time_in_collections(*context.heap);
    // Where collections end just before an instant, the rest is left for the next sample.
    const std::chrono::nanoseconds share = std::min(all - collected_, time);
    collected_ += share;
    time -= share;
    Stack collecting = stack;
    collecting.insert(collecting.begin(), Place{.part = Part::kCollector});
    samples_[std::move(collecting)] += share;
  }
  if (time.count() == 0) return;
  if (part == Part::kDevices) return add_devices(stack, time);
  if (part != Part::kFunction) stack.insert(stack.begin(), Place{.part = part, .function = detail});
  samples_[std::move(stack)] += time;
}

// The program has waited for devices: the time goes to the operations that they did meanwhile. Operations that are
// reported later count for the next wait.
void Profiler::add_devices(const Stack& stack, std::chrono::nanoseconds time) {
  const auto add = [&](Place place, std::chrono::nanoseconds share) {
    Stack whole = stack;
    whole.insert(whole.begin(), place);
    samples_[std::move(whole)] += share;
  };
  const std::vector<DeviceTimes::Share> shares = device_times_->take();
  std::chrono::nanoseconds busy{0};
  for (const DeviceTimes::Share& share : shares) busy += share.time;
  std::chrono::nanoseconds left = time;
  for (const DeviceTimes::Share& share : shares) {
    const double part = static_cast<double>(share.time.count()) / static_cast<double>(busy.count());
    const std::chrono::nanoseconds own =
        &share == &shares.back()
            ? left
            : std::chrono::nanoseconds(static_cast<std::int64_t>(part * static_cast<double>(time.count())));
    left -= own;
    add({.part = Part::kDevices,
         .function = share.device + 1,
         .line = static_cast<std::uint32_t>(share.work)},
        own);
  }
  if (shares.empty()) add({.part = Part::kDevices}, time);
}

Profiler::Place Profiler::place_of(const LinkedFunction& function, const Word* pc) const {
  Place place{.part = Part::kFunction, .function = function.index};
  // In other cases the program counter is not that of an instruction.
  const Word* const code = linked_->code_of(function);
  if (pc == nullptr || pc < code || pc >= code + function.source->code_size) return place;
  if (const bytecode::Line* const line = linked_->line_at(function, pc)) {
    place.file = line->file;
    place.line = line->line;
  }
  return place;
}

Profiler::Stack Profiler::stack_of(const Context& context) const {
  Stack stack;
  const Word* pc = context.pc == &kIterateCode ? context.loop.site : context.pc;
  const Frame* frame = context.frame;
  std::optional<std::uint32_t>
      entered;  // the function whose frame stands for compiled code that was found already
  if (frame->return_pc == &kAnchorCode) {
    stack.push_back(place_of(*frame->function, pc));
    add_compiled_callers(context, stack);
    entered = stack.back().function;
    pc = nullptr;
    --frame;
  }
  // The frame at the bottom has no function, and no caller.
  for (; frame->return_pc != nullptr && stack.size() < kMostFrames; --frame) {
    const bool is_program = frame->function != &context.outermost;
    const bool is_known = entered == frame->function->index;
    entered.reset();
    if (is_program && !is_known) stack.push_back(place_of(*frame->function, pc));
    if (frame->return_pc == &kExitCode || frame->return_pc == &kAnchorCode) {
      pc = nullptr;
    } else {
      pc = frame->return_pc == &kIterateCode ? context.loop.site : frame->return_pc - 1;
    }
  }
  if (stack.size() >= kMostFrames) stack.push_back(Place{.part = Part::kCallers});
  return stack;
}

// Compiled code has frame pointers in this build. Each frame has the caller's frame pointer and, above it, the return
// address. The innermost frame is found by its return address alone, because the functions of the virtual machine that
// it calls have no frame pointers.
[[gnu::no_sanitize_address]] void Profiler::add_compiled_callers(const Context& context, Stack& stack) const {
  const auto end = reinterpret_cast<const std::uintptr_t*>(context.native_entry);
  const auto* slot = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  bool is_innermost = true;
  for (; slot < end && stack.size() < kMostFrames; ++slot) {
    const std::optional<std::uint32_t> function = code_->find(*slot);
    // The map has the code of all modules of the engine, and a stack contains remains of earlier calls.
    if (!function || *function >= linked_->module().functions.size()) continue;
    if (!is_innermost) {
      const std::uintptr_t outer = slot[-1];
      const bool is_frame =
          outer > reinterpret_cast<std::uintptr_t>(slot) && outer <= context.native_entry && outer % 16 == 0;
      if (!is_frame) continue;
    }
    // The function that the code belongs to may be inlined into the one that has the frame.
    const bool is_same = is_innermost && stack.back().function == *function;
    if (!is_same) stack.push_back(Place{.part = Part::kFunction, .function = *function});
    is_innermost = false;
  }
}

std::vector<ProfileStack> Profiler::stacks() const {
  std::vector<ProfileStack> all;
  for (const auto& [stack, time] : samples_) {
    ProfileStack& made = all.emplace_back();
    made.time = time;
    for (const Place& place : stack) made.frames.push_back(frame_of(place));
    std::ranges::reverse(made.frames);
  }
  return all;
}

std::string Profiler::device_frame(const Place& place) const {
  if (place.function == 0) return "[waiting for devices]";
  const bool is_kernels = place.line == static_cast<std::uint32_t>(DeviceTimes::Work::kKernels);
  return "[" + device_times_->name(place.function - 1) + (is_kernels ? ": kernels]" : ": transfers]");
}

ProfileFrame Profiler::frame_of(const Place& place) const {
  const bytecode::Module& module = linked_->module();
  ProfileFrame frame;
  switch (place.part) {
    case Part::kFunction:
      frame.function = module.name_of(module.functions[place.function]);
      if (place.file != bytecode::kNoIndex) frame.file = module.strings[place.file];
      frame.line = place.line;
      break;
    case Part::kNative: frame.function = "[native " + module.imports[place.function].name + "]"; break;
    case Part::kCores: frame.function = "[parallel loop on the cores]"; break;
    case Part::kDevices: frame.function = device_frame(place); break;
    case Part::kCompiler: frame.function = "[waiting for the compiler]"; break;
    case Part::kCollector: frame.function = "[garbage collection]"; break;
    case Part::kCallers: frame.function = "[callers left out]"; break;
  }
  return frame;
}

}  // namespace dhpvm::vm
