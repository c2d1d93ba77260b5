// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/array_copies.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace dhpvm::offload {

ArrayCopies& ArrayCopies::of(Buffer& buffer) {
  if (buffer.copies() == nullptr) {
    buffer.set_copies(std::unique_ptr<BufferCopies>(new ArrayCopies(buffer)));
  }
  // No other code makes copies of a buffer.
  return static_cast<ArrayCopies&>(*buffer.copies());
}

ArrayCopies::ArrayCopies(Buffer& buffer)
    : buffer_(buffer), contents_(buffer.size()), transfers_(buffer, contents_) {}

ArrayCopies::~ArrayCopies() {
  while (!contents_.entries().empty()) forget(*contents_.entries().front().device);
}

Status ArrayCopies::to_host_for_reading() {
  DHPVM_TRY(deferred_.settle_writers());
  write_back_.host_looked();
  return transfers_.bring_to_host();
}

Status ArrayCopies::to_host_for_writing() {
  DHPVM_TRY(deferred_.settle_all());
  DHPVM_TRY(to_host_for_reading());
  DHPVM_TRY(transfers_.wait_until_unused());
  for (DeviceCopy& copy : contents_.entries()) copy.valid.clear();
  return {};
}

bool ArrayCopies::host_may_read() {
  if (deferred_.writes() || write_back_.has_unread()) return false;
  contents_.settle();
  return contents_.is_on_host(contents_.whole()) &&
         std::ranges::all_of(contents_.entries(), [](const DeviceCopy& copy) {
           return copy.device->fate_of(copy.writes_to_host()) != Fate::kUnderWay;
         });
}

bool ArrayCopies::host_may_write() {
  return !deferred_.is_pending() && host_may_read() &&
         std::ranges::all_of(contents_.entries(), [](const DeviceCopy& copy) {
           return copy.valid.empty() && copy.device->fate_of(copy.uses_of_host()) != Fate::kUnderWay;
         });
}

DeviceCopy& ArrayCopies::on(PipelineDevice& device) {
  if (DeviceCopy* const copy = contents_.find(device)) return *copy;
  device.blocks().add_copy(*this);
  return contents_.add(device);
}

Status ArrayCopies::allocate(DeviceCopy& copy) {
  copy.device->blocks().touch_copy(*this);
  if (copy.block.memory != nullptr) return {};
  DHPVM_ASSIGN(copy.block, copy.device->blocks().acquire(buffer_.size()));
  copy.use_until(copy.block.busy);
  return {};
}

void ArrayCopies::give_back(DeviceCopy& copy) {
  copy.block.busy.include(copy.busy);
  copy.device->blocks().release(std::exchange(copy.block, {}));
  copy.valid.clear();
}

Status ArrayCopies::evict(PipelineDevice& device) {
  if (const DeviceCopy* const copy = contents_.find(device)) DHPVM_TRY(transfers_.rescue(*copy));
  forget(device);
  return {};
}

void ArrayCopies::forget(PipelineDevice& device) {
  DeviceCopy* const copy = contents_.find(device);
  if (copy == nullptr) return;
  give_back(*copy);
  device.blocks().remove_copy(*this);
  contents_.drop(*copy);
}

}  // namespace dhpvm::offload
