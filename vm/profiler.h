// SPDX-License-Identifier: Apache-2.0
// Finds where the time of a program goes, by samples of its stack, five hundred a second.
//
// A sample falls on an instant, and is taken at the next checkpoint: when the ticks of the interpreter or of compiled
// code run out, after a native function, a loop on cores or devices, and a wait for the compiler. There the program's
// state is known, and the checkpoint says what has taken the time since the last one. A thread raises a flag at each
// instant, because a look at the clock costs as much as a small native function. The stack of compiled code, which
// the machine otherwise learns only as a trap unwinds it, is found by its return addresses.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "bytecode/module.h"
#include "vm/code_map.h"
#include "vm/device_times.h"
#include "vm/limits.h"
#include "vm/linker.h"

namespace dhpvm::vm {

struct Context;

class Profiler {
 public:
  // The part that has run since the last checkpoint. kCallers stands for the outer frames of a deep stack.
  enum class Part : std::uint8_t { kFunction, kNative, kCores, kDevices, kCompiler, kCollector, kCallers };

  Profiler(std::shared_ptr<const LinkedModule> linked, std::shared_ptr<const CodeMap> code)
      : linked_(std::move(linked)), code_(std::move(code)) {}
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // A call from C++ begins: the time before it was not the program's.
  void begin(const Context& context);
  // Where devices report their operations; it may outlive the profiler.
  const std::shared_ptr<DeviceTimes>& device_times() const { return device_times_; }
  // `detail`: for a native function, its index among the imports.
  void check(const Context& context, Part part = Part::kFunction, std::uint32_t detail = 0) {
    if (is_due_.load(std::memory_order_relaxed)) [[unlikely]]
      take(context, part, detail);
  }

  // All samples, by stack.
  std::vector<ProfileStack> stacks() const;

 private:
  using Clock = std::chrono::steady_clock;

  // A part of the program has function, file and line, with 0 for an unknown line. Other parts use `function` for
  // `detail`; for devices it is 0 if none has reported its work yet, and otherwise a number of DeviceTimes plus one,
  // with the kind of work in `line`.
  struct Place {
    Part part = Part::kFunction;
    std::uint32_t function = 0;
    std::uint32_t file = bytecode::kNoIndex;
    std::uint32_t line = 0;
    auto operator<=>(const Place&) const = default;
  };
  using Stack = std::vector<Place>;  // innermost first

  void keep_time();
  void take(const Context& context, Part part, std::uint32_t detail);
  void add_devices(const Stack& stack, std::chrono::nanoseconds time);
  Stack stack_of(const Context& context) const;
  void add_compiled_callers(const Context& context, Stack& stack) const;
  Place place_of(const LinkedFunction& function, const bytecode::Word* pc) const;
  std::string device_frame(const Place& place) const;
  ProfileFrame frame_of(const Place& place) const;

  const std::shared_ptr<const LinkedModule> linked_;
  const std::shared_ptr<const CodeMap> code_;
  Clock::time_point due_;  // the next instant of a sample
  std::uint64_t collections_seen_ = 0;
  std::chrono::nanoseconds collected_{0};  // time in collections that samples have counted already
  std::map<Stack, std::chrono::nanoseconds> samples_;
  const std::shared_ptr<DeviceTimes> device_times_ = std::make_shared<DeviceTimes>();

  std::atomic<bool> is_due_{false};
  std::mutex mutex_;  // guards is_over_
  std::condition_variable over_;
  bool is_over_ = false;
  Thread timer_;
};

}  // namespace dhpvm::vm
