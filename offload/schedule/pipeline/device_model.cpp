// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/device_model.h"

namespace dhpvm::offload {

void DeviceModel::record(Stage queue, const OperationRecord& record) {
  const double seconds = std::chrono::duration<double>(record.end - record.begin).count();
  const std::lock_guard lock(mutex_);
  const auto count = [&](Stage stage, std::uint64_t units) {
    StageTotal& total = totals_[static_cast<unsigned>(stage)];
    ++total.operations;
    total.units += units;
    total.time += record.end - record.begin;
  };
  switch (record.kind) {
    case OperationRecord::Kind::kUpload:
      count(Stage::kUpload, record.bytes);
      // A copy between launches has waited for these, so its time says nothing about the link.
      if (queue == Stage::kLaunch) break;
      upload_.measured(static_cast<double>(record.bytes), seconds);
      break;
    case OperationRecord::Kind::kDownload:
      count(Stage::kDownload, record.bytes);
      if (queue == Stage::kLaunch) break;
      download_.measured(static_cast<double>(record.bytes), seconds);
      break;
    case OperationRecord::Kind::kLaunch:
      count(Stage::kLaunch, record.iterations);
      launches_.try_emplace(record.label, 5e-6, 1e-9)
          .first->second.measured(static_cast<double>(record.iterations), seconds);
      break;
    default: break;
  }
}

StageTotal DeviceModel::total(Stage stage) const {
  const std::lock_guard lock(mutex_);
  return totals_[static_cast<unsigned>(stage)];
}

LinkModel DeviceModel::upload() const {
  const std::lock_guard lock(mutex_);
  return upload_;
}

LinkModel DeviceModel::download() const {
  const std::lock_guard lock(mutex_);
  return download_;
}

LinkModel DeviceModel::launch(std::uint64_t label) const {
  const std::lock_guard lock(mutex_);
  const auto found = launches_.find(label);
  return found == launches_.end() ? LinkModel(5e-6, 1e-9) : found->second;
}

}  // namespace dhpvm::offload
