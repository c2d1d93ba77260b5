// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/copy_contents.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

Positions DeviceCopy::writes_to_host() const {
  Positions positions;
  positions[Stage::kDownload] = busy[Stage::kDownload];
  if (device->info().shares_host_memory || device->copies_with_launches(block.bytes))
    positions[Stage::kLaunch] = busy[Stage::kLaunch];
  return positions;
}

Positions DeviceCopy::reads_of_host() const {
  Positions positions;
  positions[Stage::kUpload] = busy[Stage::kUpload];
  if (device->info().shares_host_memory) positions[Stage::kLaunch] = busy[Stage::kLaunch];
  return positions;
}

Positions DeviceCopy::uses_of_host() const {
  Positions positions = reads_of_host();
  positions.include(writes_to_host());
  return positions;
}

DeviceCopy* CopyContents::find(const PipelineDevice& device) {
  const std::lock_guard lock(mutex_);
  const auto found = by_device_.find(&device);
  return found == by_device_.end() ? nullptr : found->second;
}

DeviceCopy& CopyContents::add(PipelineDevice& device) {
  const std::lock_guard lock(mutex_);
  DeviceCopy& copy = entries_.emplace_back();
  copy.device = &device;
  copy.uses = &uses_;
  by_device_[&device] = &copy;
  return copy;
}

void CopyContents::drop(DeviceCopy& copy) {
  const std::lock_guard lock(mutex_);
  host_.give_up(*copy.device);
  if (copy.device->failure()) loss_ = copy.device->failure();
  by_device_.erase(copy.device);
  std::erase_if(entries_, [&](const DeviceCopy& entry) { return &entry == &copy; });
}

void CopyContents::uploaded(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  copy.valid.add(bytes);
}

void CopyContents::written(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  outdate_others(copy, bytes);
  copy.valid.add(bytes);
  host_.set_absent(bytes);
}

void CopyContents::outdate(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& copy : entries_) copy.valid.remove(bytes);
  host_.set_absent(bytes);
}

// With the mutex held.
void CopyContents::outdate_others(const DeviceCopy& copy, const Interval& bytes) {
  for (DeviceCopy& other : entries_) {
    if (&other != &copy) other.valid.remove(bytes);
  }
}

void CopyContents::written_among_others(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  copy.valid.add(bytes);
  host_.set_absent(bytes);
}

void CopyContents::outdate_among_others(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  copy.valid.remove(bytes);
  host_.set_absent(bytes);
}

void CopyContents::outdate_between(std::span<const Written> written) {
  const std::lock_guard lock(mutex_);
  IntervalSet all;
  IntervalSet twice;
  std::map<const DeviceCopy*, const IntervalSet*> own;
  for (const Written& one : written) {
    own[one.copy] = one.bytes;
    for (const Interval& part : one.bytes->intervals()) {
      for (const Interval& again : all.common(part)) twice.add(again);
      all.add(part);
    }
  }
  for (DeviceCopy& copy : entries_) {
    IntervalSet kept;
    if (const auto found = own.find(&copy); found != own.end()) {
      for (const Interval& part : found->second->intervals()) {
        for (const Interval& valid : copy.valid.common(part)) kept.add(valid);
      }
    }
    for (const Interval& part : twice.intervals()) kept.remove(part);
    for (const Interval& part : all.intervals()) copy.valid.remove(part);
    for (const Interval& part : kept.intervals()) copy.valid.add(part);
  }
}

void CopyContents::outdate_in(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  copy.valid.remove(bytes);
}

void CopyContents::arriving_on_host(const DeviceCopy& copy, const Interval& bytes,
                                    const Positions& positions) {
  const std::lock_guard lock(mutex_);
  host_.set_arriving(bytes, *copy.device, positions);
}

void CopyContents::present_on_host(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  host_.set_present(bytes);
}

void CopyContents::lose(const Error& reason) {
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& copy : entries_) copy.valid.clear();
  host_.set_absent(whole_);
  loss_ = reason;
}

void CopyContents::settle() {
  const std::lock_guard lock(mutex_);
  host_.settle();
  for (DeviceCopy& copy : entries_) {
    if (!copy.device->failure()) continue;
    copy.valid.clear();
    loss_ = copy.device->failure();
  }
}

std::vector<Interval> CopyContents::missing(const DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  return copy.valid.missing(bytes);
}

std::vector<Interval> CopyContents::host_missing(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  return host_.absent(bytes);
}

bool CopyContents::is_on_host(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  return host_.is_present(bytes);
}

void CopyContents::set_writer(std::string_view position) {
  const std::lock_guard lock(mutex_);
  if (writer_ != position) writer_.assign(position);
}

Error CopyContents::lost() {
  const std::lock_guard lock(mutex_);
  if (!loss_) {
    return error(
        ErrorCode::kDeviceFailed,
        "an array of {} bytes is incomplete: the parallel for at {}, which writes it, was stopped before its "
        "results were copied back; run it again from the beginning",
        whole_.size(), writer_);
  }
  return Error(*loss_).with_context(fmt::format(
      "an array of {} bytes is lost: the device on which the parallel for at {} computed it failed "
      "before the results were copied back; `--write-back=eager`, which is the default, copies the "
      "results of every loop back at once",
      whole_.size(), writer_));
}

}  // namespace dhpvm::offload
