// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/loop_progress.h"

#include <algorithm>

namespace dhpvm::offload {

void LoopProgress::begin(std::string_view position, std::uint64_t total) {
  done_.store(0, std::memory_order_relaxed);
  position_ = position;
  total_ = total;
  thread_ = std::this_thread::get_id();
  begin_ = Clock::now();
  next_ = begin_ + interval_;
  was_told_ = false;
}

void LoopProgress::end() {
  if (was_told_) tell(Clock::now(), true);
  thread_ = {};
}

void LoopProgress::look_at_clock() {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  was_told_ = true;
  tell(now, false);
  next_ = Clock::now() + interval_;
}

// Devices that share a loop may do some of it twice.
void LoopProgress::tell(Clock::time_point now, bool has_ended) {
  const std::uint64_t done = std::min(done_.load(std::memory_order_relaxed), total_);
  listener_({position_, done, total_, now - begin_, has_ended});
}

}  // namespace dhpvm::offload
