// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/array_copies.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

ArrayCopies& ArrayCopies::of(Buffer& buffer) {
  if (buffer.copies() == nullptr) {
    buffer.set_copies(std::unique_ptr<BufferCopies>(new ArrayCopies(buffer)));
  }
  // Nobody else makes any.
  return static_cast<ArrayCopies&>(*buffer.copies());
}

ArrayCopies::ArrayCopies(Buffer& buffer) : buffer_(buffer), host_(whole()) {}

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

Positions ArrayCopies::writes_to_host(const DeviceCopy& copy) {
  Positions positions;
  positions[Stage::kDownload] = copy.busy[Stage::kDownload];
  if (copy.device->info().shares_host_memory) positions[Stage::kLaunch] = copy.busy[Stage::kLaunch];
  return positions;
}

// Takes note of what became of operations since.
void ArrayCopies::settle() {
  host_.settle();
  for (DeviceCopy& copy : copies_) {
    if (!copy.device->failure() || copy.valid.empty()) continue;
    copy.valid.clear();
    loss_ = copy.device->failure();
  }
}

// Has what the host lacks of `bytes` sent to it by whoever has it.
Status ArrayCopies::request(const Interval& bytes) {
  settle();
  std::vector<Interval> lacking = host_.absent(bytes);
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
        Positions there;
        there.include(Stage::kDownload, position);
        host_.set_arriving(part, *copy.device, there);
        submitted = true;
      }
    }
    if (submitted) copy.device->hold(buffer_, copy.busy);
    lacking = host_.absent(bytes);
  }
  return lacking.empty() ? Status() : lost(lacking.front());
}

// Waits until no device but that of `except` writes the host's memory any more. Fails only when somebody wants the waiting to
// end: a device that has failed writes nothing.
Status ArrayCopies::wait_for_writes(const DeviceCopy* except) {
  for (const DeviceCopy& copy : copies_) {
    if (&copy == except) continue;
    const Positions writes = writes_to_host(copy);
    // One by one: where a stage has failed, another may still be writing.
    for (const Stage stage : {Stage::kLaunch, Stage::kDownload}) {
      Positions of_stage;
      of_stage[stage] = writes[stage];
      if (Status status = copy.device->wait(of_stage); !status.ok() && !copy.device->failure()) return status;
    }
  }
  return {};
}

// Makes `bytes` current on the host; arrivals from `except` are for the caller to wait for. Another device may have what one
// that fails meanwhile was to send.
Status ArrayCopies::fetch(const Interval& bytes, const DeviceCopy* except) {
  const auto failures = [this] {
    return std::ranges::count_if(copies_,
                                 [](const DeviceCopy& copy) { return copy.device->failure().has_value(); });
  };
  for (;;) {
    const auto before = failures();
    if (Status status = request(bytes); !status.ok()) {
      if (failures() == before) return status;
      continue;
    }
    DHPVM_TRY(wait_for_writes(except));
    settle();
    if (host_.absent(bytes).empty()) return {};
  }
}

Error ArrayCopies::lost(const Interval& bytes) const {
  if (!loss_)
    return error(ErrorCode::kInternal, "bytes {} to {} of an array are nowhere", bytes.begin, bytes.end);
  return Error(*loss_).with_context(
      fmt::format("the results of parallel loops in an array of {} bytes are lost, because the device that "
                  "had computed them failed "
                  "before they were copied back; `--write-back=eager`, which is the default, copies the "
                  "results of every loop back at "
                  "once",
                  buffer_.size()));
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
  host_.set_absent(bytes);
}

void ArrayCopies::outdate(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  for (DeviceCopy& copy : copies_) copy.valid.remove(bytes);
  host_.set_absent(bytes);
}

void ArrayCopies::arriving_on_host(const DeviceCopy& copy, const Interval& bytes,
                                   const Positions& positions) {
  const std::lock_guard lock(mutex_);
  host_.set_arriving(bytes, *copy.device, positions);
  sent_unread_ = true;
}

void ArrayCopies::present_on_host(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  host_.set_present(bytes);
}

std::vector<Interval> ArrayCopies::host_missing(const Interval& bytes) {
  const std::lock_guard lock(mutex_);
  settle();
  return host_.absent(bytes);
}

bool ArrayCopies::host_may_read() {
  const std::lock_guard lock(mutex_);
  if (pending_writes_ || sent_unread_) return false;
  settle();
  return host_.is_present(whole()) && std::ranges::all_of(copies_, [](const DeviceCopy& copy) {
           return copy.device->fate_of(writes_to_host(copy)) != Fate::kUnderWay;
         });
}

bool ArrayCopies::host_may_write() {
  const std::lock_guard lock(mutex_);
  return pending_ == nullptr && host_may_read() && std::ranges::all_of(copies_, [](const DeviceCopy& copy) {
           return copy.valid.empty() && copy.device->fate_of(copy.busy) != Fate::kUnderWay;
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
  while (!copies_.empty()) forget(*copies_.front().device);
  host_.set_absent(whole());
  loss_ = error;
}

Status ArrayCopies::give_up(PipelineDevice& device) {
  const std::lock_guard lock(mutex_);
  const std::vector<Interval> parts = on(device).valid.intervals();
  for (const Interval& part : parts) {
    if (Status status = fetch(part, nullptr); !status.ok() && !device.failure()) return status;
  }
  DHPVM_TRY(wait_for_writes(nullptr));
  forget(device);
  return {};
}

void ArrayCopies::forget(PipelineDevice& device) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(copies_, &device, &DeviceCopy::device);
  if (found == copies_.end()) return;
  host_.give_up(device);
  if (device.failure()) loss_ = device.failure();
  found->block.busy.include(found->busy);
  device.release(std::move(found->block));
  device.remove_copy(*this);
  copies_.erase(found);
}

}  // namespace dhpvm::offload
