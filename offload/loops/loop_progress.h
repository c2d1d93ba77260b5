// SPDX-License-Identifier: Apache-2.0
// How far long loops have come, for a host that shows it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

namespace dhpvm::offload {

// A moment of a loop.
struct ProgressReport {
  std::string_view position;  // of the loop in the source
  std::uint64_t done = 0;     // iterations, also those that a device has been given
  std::uint64_t total = 0;
  std::chrono::nanoseconds elapsed{0};
  bool has_ended = false;
};

// Tells a listener of the loop that runs, one at a time: on the loop's own thread, at most once an interval, and once
// at the end of a loop that it was told of. Nobody is told of short loops.
class LoopProgress {
 public:
  using Listener = std::function<void(const ProgressReport&)>;
  LoopProgress(Listener listener, std::chrono::nanoseconds interval)
      : listener_(std::move(listener)), interval_(interval) {}

  // One execution of a loop, on this thread. A null `progress` tells nobody.
  class Execution {
   public:
    Execution(LoopProgress* progress, std::string_view position, std::uint64_t total) : progress_(progress) {
      if (progress_ != nullptr) progress_->begin(position, total);
    }
    ~Execution() {
      if (progress_ != nullptr) progress_->end();
    }
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

   private:
    LoopProgress* const progress_;
  };

  // So many more iterations are done. Any thread.
  void add(std::uint64_t iterations) {
    done_.fetch_add(iterations, std::memory_order_relaxed);
    if (std::this_thread::get_id() == thread_) look_at_clock();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin(std::string_view position, std::uint64_t total);
  void end();
  void look_at_clock();
  void tell(Clock::time_point now, bool has_ended);

  const Listener listener_;
  const std::chrono::nanoseconds interval_;
  std::atomic<std::uint64_t> done_{0};
  // These are of the loop that runs, and written before others work on it.
  std::string_view position_;
  std::uint64_t total_ = 0;
  std::thread::id thread_;
  Clock::time_point begin_;
  Clock::time_point next_;
  bool was_told_ = false;
};

}  // namespace dhpvm::offload
