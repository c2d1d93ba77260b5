// SPDX-License-Identifier: Apache-2.0
// The measured times of a device's operations: of its copies, and of each loop's launches.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "offload/devices/device.h"
#include "offload/schedule/pipeline/link_model.h"
#include "offload/schedule/pipeline/positions.h"

namespace dhpvm::offload {

// All operations of a stage: copies with their bytes, launches with their iterations, and the time for which
// they have kept the device busy, on its own clock.
struct StageTotal {
  std::uint64_t operations = 0;
  std::uint64_t units = 0;
  std::chrono::nanoseconds time{0};
};

// Measurements of a device; shared with the code that chooses where loops run. Thread-safe.
class DeviceModel {
 public:
  // `queue`: the stage whose queue the operation was in.
  void record(Stage queue, const OperationRecord& record);
  // Totals of the operations that are known to be done.
  StageTotal total(Stage stage) const;
  // Copies of the models as they are now.
  LinkModel upload() const;
  LinkModel download() const;
  // The model for launches with this label; not known() if there were none.
  LinkModel launch(std::uint64_t label) const;

 private:
  mutable std::mutex mutex_;
  std::array<StageTotal, kStages> totals_;
  LinkModel upload_{10e-6, 1.0 / 10e9};
  LinkModel download_{10e-6, 1.0 / 10e9};
  std::map<std::uint64_t, LinkModel> launches_;
};

}  // namespace dhpvm::offload
