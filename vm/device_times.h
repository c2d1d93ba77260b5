// SPDX-License-Identifier: Apache-2.0
// The time of the operations that devices have done for a program, by device and kind, for its profile.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "offload/devices/device.h"

namespace dhpvm::vm {

class DeviceTimes {
 public:
  enum class Work : std::uint8_t { kKernels, kTransfers };
  struct Share {
    std::uint32_t device = 0;  // for name()
    Work work = Work::kKernels;
    std::chrono::nanoseconds time{0};
  };

  // May be called from any thread.
  void add(const std::string& device, const offload::OperationRecord& record);
  // The operations since the last call, without devices that have done nothing.
  std::vector<Share> take();
  std::string name(std::uint32_t device) const;

 private:
  static constexpr std::size_t kWorks = 2;
  struct Device {
    std::string name;
    std::array<std::chrono::nanoseconds, kWorks> times{};
  };

  mutable std::mutex mutex_;
  std::vector<Device> devices_;
};

}  // namespace dhpvm::vm
