// SPDX-License-Identifier: Apache-2.0
// The time of a simulated device. It does not pass by itself: operations take as long as the device's rates say, and
// the host's time moves on when the host waits. All times are determined at submission, so that the same submissions
// give the same times on every machine.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "offload/devices/timeline.h"

namespace dhpvm::offload {

using VirtualTime = std::chrono::nanoseconds;

// The engine that an operation occupies. Each engine does one operation at a time, in the order of submission.
enum class Engine : std::uint8_t { kUpload, kDownload, kCompute, kNone };

struct Booking {
  VirtualTime begin{0};
  VirtualTime end{0};
};

// Thread-safe.
class VirtualClock {
 public:
  // The host's time.
  VirtualTime now() const;
  // The host has waited until `time`; no effect if that has passed.
  void advance(VirtualTime time);
  // The host has polled without waiting. That takes a moment, so that a polling loop ends.
  VirtualTime look();
  // Books the engine for `duration`, from the first time at or after `ready` at which its earlier operations have
  // ended.
  Booking book(Engine engine, VirtualTime ready, VirtualTime duration);

 private:
  static constexpr VirtualTime kLook{1000};
  mutable std::mutex mutex_;
  VirtualTime now_{0};
  std::array<VirtualTime, 3> free_{};  // by engine
};

// A semaphore that knows when its values are reached by the clock of the simulation.
class SimSemaphore final : public TimelineSemaphore {
 public:
  SimSemaphore(Timeline& timeline, VirtualClock& clock, std::uint64_t initial);

  // The value that has been reached at the host's time. This is a poll: the host's time moves on a little.
  Result<std::uint64_t> value() override;
  // Moves the host's time on to when the value is reached. With a deadline that has passed, it is a poll, like value().
  // Other deadlines are times of the machine's clock, and count only as long as the value has not been promised.
  Result<bool> wait(std::uint64_t value, Clock::time_point deadline) override;
  Status signal(std::uint64_t value) override;

  // For the device, before it calls reach().
  void will_reach(std::uint64_t value, VirtualTime time);
  // When a promised value is reached.
  VirtualTime time_of(std::uint64_t value);

 private:
  struct Step {
    std::uint64_t value;
    VirtualTime time;
  };
  std::uint64_t reached_by(VirtualTime time);

  VirtualClock& clock_;
  std::mutex mutex_;
  // Ascending in value and time: a value that would be reached after a larger one is left out.
  std::vector<Step> steps_;
};

}  // namespace dhpvm::offload
