// SPDX-License-Identifier: Apache-2.0
// The time of a simulated device. It does not pass by itself: operations take what the device's rates say,
// and the host's time moves on when it waits. All of it is decided when operations are submitted, so that the
// same submissions give the same times on every machine.
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
  // Where the host is.
  VirtualTime now() const;
  // The host has waited until `time`, if that is later.
  void advance(VirtualTime time);
  // The host has looked whether something is done, and not waited: that takes a moment, so that a loop around it ends.
  VirtualTime look();
  // The first time after `ready` and after all that the engine has been given before.
  Booking book(Engine engine, VirtualTime ready, VirtualTime duration);

 private:
  static constexpr VirtualTime kLook{1000};
  mutable std::mutex mutex_;
  VirtualTime now_{0};
  std::array<VirtualTime, 3> free_{};  // by engine
};

// A semaphore that knows when its values are reached, on the clock of the simulation.
class SimSemaphore final : public TimelineSemaphore {
 public:
  SimSemaphore(Timeline& timeline, VirtualClock& clock, std::uint64_t initial);

  // The value that has been reached at the clock's time. The host's time moves on a little.
  Result<std::uint64_t> value() override;
  // The host's time moves on to when the value is reached. With a deadline that has passed this is a look,
  // like value(); other deadlines are on the machine's clock and count only while the value has not been
  // submitted.
  Result<bool> wait(std::uint64_t value, Clock::time_point deadline) override;
  Status signal(std::uint64_t value) override;

  // By the device: before reach().
  void will_reach(std::uint64_t value, VirtualTime time);
  // When the value is reached, of one that has been promised.
  VirtualTime time_of(std::uint64_t value);

 private:
  struct Step {
    std::uint64_t value;
    VirtualTime time;
  };
  std::uint64_t reached_by(VirtualTime time);

  VirtualClock& clock_;
  std::mutex mutex_;
  // Both value and time rise from one to the next: what would be reached after something larger is left out.
  std::vector<Step> steps_;
};

}  // namespace dhpvm::offload
