// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/outgoing_records.h"

namespace dhpvm::offload {

void OutgoingRecords::add(HeldRecords::Record record) {
  held_.hold(std::move(record));
  release();
  if (frame_.has_enough()) flush();
}

void OutgoingRecords::flush() {
  if (frame_.is_empty() || lane_ == nullptr) return;
  lane_->send(frame_.bytes());
  frame_.clear();
}

void OutgoingRecords::done(std::uint64_t operations, std::uint64_t answer_bytes) {
  held_.operations_done(operations);
  held_.answered(answer_bytes);
  if (held_.is_empty()) return;
  release();
  flush();
}

// Moves the records that need not wait into the frame.
void OutgoingRecords::release() {
  while (const auto record = held_.next(most_operations_)) {
    if (!frame_.has_room_for(*record)) flush();
    frame_.add(*record);
  }
}

}  // namespace dhpvm::offload
