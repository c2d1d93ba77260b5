// SPDX-License-Identifier: Apache-2.0
// Limits the lines that strangers can cause in a log, so that many of them do not fill the disk.
#pragma once

#include <chrono>
#include <utility>

namespace dhpvm::offload {

// Not thread-safe.
class LogBudget {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LogBudget(unsigned lines_a_second) : lines_a_second_(lines_a_second) {}

  // Whether one more line may be written.
  bool take(Clock::time_point now) {
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      left_out_ += lines_ > lines_a_second_ ? lines_ - lines_a_second_ : 0;
      lines_ = 0;
    }
    return ++lines_ <= lines_a_second_;
  }
  // The lines that were left out up to the second of the last take(), and have not been reported yet.
  unsigned take_left_out() { return std::exchange(left_out_, 0); }

 private:
  const unsigned lines_a_second_;
  Clock::time_point since_;
  unsigned lines_ = 0;
  unsigned left_out_ = 0;
};

}  // namespace dhpvm::offload
