// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/array_copies.h"

#include <algorithm>
#include <utility>

namespace dhpvm::offload {

ArrayCopies& ArrayCopies::of(Buffer& buffer) {
  if (buffer.copies() == nullptr) {
    buffer.set_copies(std::unique_ptr<BufferCopies>(new ArrayCopies(buffer)));
  }
  // Nobody else makes any.
  return static_cast<ArrayCopies&>(*buffer.copies());
}

ArrayCopies::ArrayCopies(Buffer& buffer) : buffer_(buffer), host_valid_(whole()) {}

ArrayCopies::~ArrayCopies() {
  while (!copies_.empty()) forget(*copies_.front().device);
}

DeviceCopy& ArrayCopies::on(PipelineDevice& device) {
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& copy : copies_) {
    if (copy.device == &device) return copy;
  }
  device.add_copy(*this);
  DeviceCopy& copy = copies_.emplace_back();
  copy.device = &device;
  return copy;
}

Status ArrayCopies::allocate(DeviceCopy& copy) {
  copy.device->touch_copy(*this);
  if (copy.block.memory != nullptr) return {};
  DHPVM_ASSIGN(copy.block, copy.device->acquire(buffer_.size()));
  copy.busy.include(copy.block.busy);
  return {};
}

void ArrayCopies::give_back(DeviceCopy& copy) {
  const std::lock_guard lock(mutex_);
  copy.block.busy.include(copy.busy);
  copy.device->release(std::move(copy.block));
  copy.block = {};
  copy.valid.clear();
}

// The operations of this entry after which the host's memory is what it will be.
Positions ArrayCopies::writes_to_host(const DeviceCopy& copy) {
  Positions positions;
  positions[Stage::kDownload] = copy.busy[Stage::kDownload];
  if (copy.device->info().shares_host_memory) positions[Stage::kLaunch] = copy.busy[Stage::kLaunch];
  return positions;
}

// Has what the host lacks of `bytes` sent to it, by whoever has it; downloads on `except` are for the caller to wait for.
Status ArrayCopies::fetch(const Interval& bytes, const DeviceCopy* except) {
  if (lost_) return *lost_;
  std::vector<Interval> lacking = host_valid_.missing(bytes);
  for (DeviceCopy& copy : copies_) {
    if (copy.block.memory == nullptr || lacking.empty()) continue;
    bool submitted = false;
    for (const Interval& lack : lacking) {
      for (const Interval& part : copy.valid.common(lack)) {
        DHPVM_ASSIGN(MemorySpan to, copy.device->registrations().span_of(copy.device->device(), buffer_));
        to.offset += part.begin;
        to.bytes = part.size();
        DHPVM_ASSIGN(const std::uint64_t position,
                     copy.device->download(to, {copy.block.memory, part.begin, part.size()}, copy.busy));
        copy.busy.include(Stage::kDownload, position);
        host_valid_.add(part);
        submitted = true;
      }
    }
    if (submitted) copy.device->hold(buffer_, copy.busy);
    lacking = host_valid_.missing(bytes);
  }
  for (DeviceCopy& copy : copies_) {
    if (&copy != except) DHPVM_TRY(copy.device->wait(writes_to_host(copy)));
  }
  return {};
}

Status ArrayCopies::prepare_host(PipelineDevice& device, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  return fetch(bytes, &on(device));
}

Status ArrayCopies::bring_to_host() {
  const std::lock_guard lock(mutex_);
  return fetch(whole(), nullptr);
}

Status ArrayCopies::to_host_for_reading() {
  if (pending_ != nullptr && pending_writes_) DHPVM_TRY(pending_->settle());
  wanted_on_host_ = true;
  sent_unread_ = false;
  return bring_to_host();
}

Status ArrayCopies::to_host_for_writing() {
  if (pending_ != nullptr) DHPVM_TRY(pending_->settle());
  DHPVM_TRY(to_host_for_reading());
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& copy : copies_) {
    // Of a device that has failed, nothing reads the host's memory any more.
    if (Status status = copy.device->wait(copy.busy); !status.ok() && !copy.device->failure()) return status;
    copy.valid.clear();
  }
  return {};
}

std::vector<Interval> ArrayCopies::missing(const DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  return copy.valid.missing(bytes);
}

void ArrayCopies::uploaded(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  copy.valid.add(bytes);
}

void ArrayCopies::outdate_others(const DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& other : copies_) {
    if (&other != &copy) other.valid.remove(bytes);
  }
}

void ArrayCopies::written(DeviceCopy& copy, const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  outdate_others(copy, bytes);
  copy.valid.add(bytes);
  host_valid_.remove(bytes);
}

void ArrayCopies::written_on_host(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& copy : copies_) copy.valid.remove(bytes);
  host_valid_.add(bytes);
  sent_unread_ = true;
}

void ArrayCopies::downloaded(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  host_valid_.add(bytes);
  sent_unread_ = true;
}

std::vector<Interval> ArrayCopies::host_missing(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  return host_valid_.missing(bytes);
}

bool ArrayCopies::host_may_read() {
  const std::lock_guard lock(mutex_);
  return !pending_writes_ && !lost_ && !sent_unread_ && host_valid_.contains(whole()) &&
         std::ranges::all_of(copies_, [](const DeviceCopy& copy) {
           return copy.device->reached(writes_to_host(copy)) && !copy.device->failure();
         });
}

bool ArrayCopies::host_may_write() {
  const std::lock_guard lock(mutex_);
  return pending_ == nullptr && host_may_read() && std::ranges::all_of(copies_, [](const DeviceCopy& copy) {
           return copy.valid.empty() && copy.device->reached(copy.busy);
         });
}

void ArrayCopies::put_off(PendingLoops& loops, bool writes) {
  const std::lock_guard lock(mutex_);
  pending_ = &loops;
  pending_writes_ = pending_writes_ || writes;
}

void ArrayCopies::take_up() {
  const std::lock_guard lock(mutex_);
  pending_ = nullptr;
  pending_writes_ = false;
}

void ArrayCopies::lose_if_written(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!pending_writes_) return;
  lost_ = error;
  while (!copies_.empty()) forget(*copies_.front().device);
}

void ArrayCopies::restore_on_host(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  host_valid_.add(bytes);
}

void ArrayCopies::forget(PipelineDevice& device) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(copies_, &device, &DeviceCopy::device);
  if (found == copies_.end()) return;
  found->block.busy.include(found->busy);
  device.release(std::move(found->block));
  device.remove_copy(*this);
  copies_.erase(found);
}

}  // namespace dhpvm::offload
