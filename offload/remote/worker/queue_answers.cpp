// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/queue_answers.h"

namespace dhpvm::offload {

void QueueAnswers::expect(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  expected_ += count;
}

void QueueAnswers::add(const wire::FromWorker& record) {
  const std::lock_guard lock(mutex_);
  append(record);
  if (expected_ == 0) send();
}

void QueueAnswers::notify(const wire::Progress& progress) {
  const std::lock_guard lock(mutex_);
  expected_ -= progress.operations;
  append(progress);
  send();
}

void QueueAnswers::flush() {
  const std::lock_guard lock(mutex_);
  send();
}

// With the mutex held.
void QueueAnswers::append(const wire::FromWorker& record) {
  record_.clear();
  wire::write(record_, record);
  if (frame_.size() + record_.size() > FrameLane::kLargestFrame || records_ == wire::kMaxRecords) send();
  frame_.insert(frame_.end(), record_.begin(), record_.end());
  ++records_;
}

// With the mutex held.
void QueueAnswers::send() {
  if (frame_.empty()) return;
  frames_->send(frame_);
  frame_.clear();
  records_ = 0;
}

}  // namespace dhpvm::offload
