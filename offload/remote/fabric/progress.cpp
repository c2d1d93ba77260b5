// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/progress.h"

#include <algorithm>
#include <future>
#include <utility>

namespace dhpvm::offload {
namespace {

// The thread wakes at least this often, even if it has missed an event.
constexpr std::chrono::milliseconds kLongestSleep{100};

}  // namespace

void ProgressThread::start() {
  thread_ = std::thread([this] { run(); });
}

void ProgressThread::stop(std::function<void()> last) {
  if (!thread_.joinable()) return;
  last_ = std::move(last);
  stopping_.store(true);
  source_.wake();
  thread_.join();
  const std::lock_guard lock(mutex_);
  entries_ = {};
}

void ProgressThread::post_at(Clock::time_point when, std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push({when, added_.load(std::memory_order_relaxed), std::move(function)});
    added_.fetch_add(1);
  }
  if (sleeping_.load()) source_.wake();
}

void ProgressThread::run_and_wait(const std::function<void()>& function) {
  if (is_current()) return function();
  std::promise<void> done;
  post([&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

void ProgressThread::run() {
  Clock::time_point idle_since = Clock::now();
  while (!stopping_.load()) {
    const bool ran = run_due();
    const bool polled = source_.poll();
    if (ran || polled) {
      idle_since = Clock::now();
    } else if (!spin_.again(idle_since)) {
      sleep();
      idle_since = Clock::now();
    }
  }
  if (last_) last_();
}

bool ProgressThread::run_due() {
  if (added_.load() == seen_ && (next_ == Clock::time_point::max() || Clock::now() < next_)) return false;
  bool ran = false;
  // Only entries present now: a function that posts the next one must not keep the source from being polled.
  std::unique_lock lock(mutex_);
  seen_ = added_.load();
  const std::uint64_t end = seen_;
  const Clock::time_point now = Clock::now();
  while (!entries_.empty() && entries_.top().when <= now && entries_.top().number < end) {
    std::function<void()> function = std::move(const_cast<Entry&>(entries_.top()).function);
    entries_.pop();
    lock.unlock();
    function();
    function = nullptr;  // its captures may post when they are destroyed
    ran = true;
    lock.lock();
  }
  next_ = entries_.empty() ? Clock::time_point::max() : entries_.top().when;
  return ran;
}

void ProgressThread::sleep() {
  sleeping_.store(true);
  if (added_.load() == seen_ && !stopping_.load()) {
    const Clock::time_point begin = Clock::now();
    const auto until_next = next_ == Clock::time_point::max()
                                ? kLongestSleep
                                : std::chrono::ceil<std::chrono::milliseconds>(next_ - begin);
    source_.wait(std::clamp(until_next, std::chrono::milliseconds(0), kLongestSleep));
    spin_.slept(Clock::now() - begin);
  }
  sleeping_.store(false);
}

}  // namespace dhpvm::offload
