// SPDX-License-Identifier: Apache-2.0
#include "vm/device_times.h"

#include <algorithm>
#include <iterator>

namespace dhpvm::vm {

void DeviceTimes::add(const std::string& device, const offload::OperationRecord& record) {
  using Kind = offload::OperationRecord::Kind;
  if (record.kind == Kind::kHostCall || record.end <= record.begin) return;
  const Work work = record.kind == Kind::kLaunch ? Work::kKernels : Work::kTransfers;
  const std::lock_guard lock(mutex_);
  auto known = std::ranges::find(devices_, device, &Device::name);
  if (known == devices_.end()) {
    devices_.emplace_back().name = device;
    known = std::prev(devices_.end());
  }
  known->times[static_cast<std::size_t>(work)] += record.end - record.begin;
}

std::vector<DeviceTimes::Share> DeviceTimes::take() {
  std::vector<Share> shares;
  const std::lock_guard lock(mutex_);
  for (std::uint32_t device = 0; device < devices_.size(); ++device) {
    for (const Work work : {Work::kKernels, Work::kTransfers}) {
      std::chrono::nanoseconds& time = devices_[device].times[static_cast<std::size_t>(work)];
      if (time.count() > 0) shares.push_back({device, work, time});
      time = {};
    }
  }
  return shares;
}

std::string DeviceTimes::name(std::uint32_t device) const {
  const std::lock_guard lock(mutex_);
  return devices_[device].name;
}

}  // namespace dhpvm::vm
