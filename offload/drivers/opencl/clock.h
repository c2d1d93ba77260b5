// SPDX-License-Identifier: Apache-2.0
// An OpenCL device's clock for the interface of devices: the host's steady clock since the device was opened. The
// driver measures with another clock, which has an unknown start, and drifts.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace dhpvm::offload {

// Thread-safe.
class DeviceClock {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  Nanoseconds now() const { return std::chrono::steady_clock::now() - epoch_; }
  // The driver's clock showed `driver` at some moment from `before` to `after`.
  void compare(Nanoseconds before, Nanoseconds after, std::uint64_t driver);
  // Valid only after a comparison.
  Nanoseconds convert(std::uint64_t driver) const;

 private:
  const std::chrono::steady_clock::time_point epoch_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  bool compared_ = false;
  Nanoseconds offset_{0};  // from the driver's clock to this one
  Nanoseconds window_{0};  // the largest possible error of offset_
  Nanoseconds when_{0};
};

}  // namespace dhpvm::offload
