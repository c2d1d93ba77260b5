// SPDX-License-Identifier: Apache-2.0
// Progress of long loops, for host applications that show it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

namespace dhpvm::offload {

// The progress of one loop at one moment.
struct ProgressReport {
  std::string_view position;  // of the loop in the source
  std::uint64_t done = 0;     // iterations, including those that a device has been given
  std::uint64_t total = 0;
  std::chrono::nanoseconds elapsed{0};
  bool has_ended = false;
};

// Reports the progress of the running loop to a listener: on the loop's own thread, at most once an interval, and once
// more at the end of a loop that was reported. Loops shorter than an interval are not reported. Only one loop runs at a
// time.
class LoopProgress {
 public:
  using Listener = std::function<void(const ProgressReport&)>;
  LoopProgress(Listener listener, std::chrono::nanoseconds interval)
      : listener_(std::move(listener)), interval_(interval) {}

  // One execution of a loop, on this thread. With a null `progress`, nothing is reported.
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

  // `iterations` more are done. May be called by any thread.
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
  // State of the running loop, written before other threads begin to work on it.
  std::string_view position_;
  std::uint64_t total_ = 0;
  std::thread::id thread_;
  Clock::time_point begin_;
  Clock::time_point next_;
  bool was_told_ = false;
};

}  // namespace dhpvm::offload
