// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/progress.h"

#include <algorithm>
#include <future>
#include <utility>

namespace dhpvm::offload {
namespace {

// The thread wakes at least this often, in case it has missed an event.
constexpr std::chrono::milliseconds kLongestSleep{100};
// Other threads lead for at most this long at a time: what they wait for may come from elsewhere.
constexpr std::chrono::milliseconds kLongestVisit{4};
// The thread leads again when no thread has led for this long.
constexpr std::chrono::milliseconds kLongestAbsence{1};
// The time for which another thread's wish to lead holds: a thread that waits longer gains nothing from leading.
constexpr std::chrono::milliseconds kWishHolds{2};
// If events are there already so many times in a row, they come in a stream: only the progress thread receives it for a
// while, so that the threads that wait for it can go on with their work.
constexpr unsigned kStream = 8;
constexpr std::chrono::milliseconds kStreamLasts{50};

}  // namespace

Status ProgressThread::start() {
  return thread_.start_once("dhpvm-network", [this] { run(); });
}

void ProgressThread::stop(std::function<void()> last) {
  if (!thread_.is_running()) return;
  last_ = std::move(last);
  stopping_.store(true);
  source_.wake();
  call();
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
  if (sleeping_.load()) {
    source_.wake();
  } else if (when == Clock::time_point::min() && leader_.load() == std::thread::id()) {
    call();
  }
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
  lead_.lock();
  leader_.store(std::this_thread::get_id());
  Clock::time_point idle_since = Clock::now();
  while (!stopping_.load()) {
    if (!turn(idle_since, Clock::time_point::max()) || !stands_back()) continue;
    follow();
    idle_since = Clock::now();
  }
  if (last_) last_();
  leader_.store({});
  lead_.unlock();
}

// One round of the leader: runs what is due, and handles events. Returns whether there was anything; if not, it may
// have slept.
bool ProgressThread::turn(Clock::time_point& idle_since, Clock::time_point until) {
  const bool ran = run_due();
  const bool polled = source_.poll();
  if (ran || polled) {
    idle_since = Clock::now();
    return true;
  }
  if (!spin_.again(idle_since)) {
    sleep(until);
    idle_since = Clock::now();
  }
  return false;
}

// ---- Leading by turns -----------------------------------------------------------------------------------------------

void ProgressThread::attend(const std::function<bool()>& is_done, Clock::time_point deadline) {
  if (is_current() || is_done()) return;
  const Clock::time_point begin = Clock::now();
  if (begin.time_since_epoch().count() < reserved_.load()) return;
  std::unique_lock lead(lead_, std::try_to_lock);
  if (!lead.owns_lock()) {
    wanted_.store(begin.time_since_epoch().count());
    return;
  }
  visits_.fetch_add(1);
  leader_.store(std::this_thread::get_id());
  const Clock::time_point end = std::min(deadline, begin + kLongestVisit);
  Clock::time_point idle_since = begin;
  // The progress thread may have handled it before giving up the lead.
  bool is_over = is_done();
  bool has_waited = is_over;
  while (!is_over && !stopping_.load() && Clock::now() < end) {
    has_waited = !turn(idle_since, end) || has_waited;
    is_over = is_done();
  }
  hurried_ = has_waited ? 0 : hurried_ + 1;
  const bool is_stream = hurried_ == kStream;
  if (is_stream) {
    hurried_ = 0;
    reserved_.store((begin + kStreamLasts).time_since_epoch().count());
  }
  visits_.fetch_add(1);
  leader_.store({});
  // Either this thread sees what was posted, or the posting thread sees that no thread leads.
  const bool is_missed = !is_over || is_stream || expected_.load() != 0 || added_.load() != seen_;
  lead.unlock();
  if (is_missed) call();
}

void ProgressThread::call() {
  {
    const std::lock_guard lock(turn_mutex_);
    is_called_ = true;
  }
  turn_.notify_one();
}

// Whether the progress thread gives up the lead to a thread that has just asked for it. While answers are expected, one
// thread has to listen all the time.
bool ProgressThread::stands_back() {
  const Clock::time_point wanted{Clock::duration(wanted_.load())};
  if (expected_.load() != 0 || Clock::now() - wanted > kWishHolds) return false;
  {
    const std::lock_guard lock(turn_mutex_);
    is_called_ = false;
  }
  leader_.store({});
  if (added_.load() == seen_) return true;
  leader_.store(std::this_thread::get_id());
  return false;
}

// Waits until the thread is needed: others have called it, or no thread has led for a while. call() never waits for the
// leader, which may be waiting for a mutex that its caller holds.
void ProgressThread::follow() {
  lead_.unlock();
  for (bool leads = false; !leads;) {
    const std::uint64_t visits = visits_.load();
    bool is_called = false;
    {
      std::unique_lock lock(turn_mutex_);
      is_called = turn_.wait_for(lock, kLongestAbsence, [this] { return is_called_ || stopping_.load(); });
      is_called_ = false;
    }
    // A leading thread sees what is posted, and calls again if it has to.
    if (stopping_.load() || (is_called && leader_.load() == std::thread::id())) {
      lead_.lock();
      leads = true;
    } else if (visits % 2 == 0 && visits_.load() == visits) {
      leads = lead_.try_lock();
    }
  }
  leader_.store(std::this_thread::get_id());
}

// ---- What is due ----------------------------------------------------------------------------------------------------

bool ProgressThread::run_due() {
  if (added_.load() == seen_ && (next_ == Clock::time_point::max() || Clock::now() < next_)) return false;
  bool ran = false;
  // Runs only the entries that are present now: a function that posts the next one must not keep the source from being
  // polled.
  std::unique_lock lock(mutex_);
  seen_ = added_.load();
  const std::uint64_t end = seen_;
  const Clock::time_point now = Clock::now();
  while (!entries_.empty() && entries_.top().when <= now && entries_.top().number < end) {
    std::function<void()> function = std::move(const_cast<Entry&>(entries_.top()).function);
    entries_.pop();
    lock.unlock();
    function();
    function = nullptr;  // destroying its captures may post
    ran = true;
    lock.lock();
  }
  next_ = entries_.empty() ? Clock::time_point::max() : entries_.top().when;
  return ran;
}

void ProgressThread::sleep(Clock::time_point until) {
  sleeping_.store(true);
  if (added_.load() == seen_ && !stopping_.load()) {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point next = std::min(next_, until);
    const auto until_next = next == Clock::time_point::max()
                                ? kLongestSleep
                                : std::chrono::ceil<std::chrono::milliseconds>(next - begin);
    source_.wait(std::clamp(until_next, std::chrono::milliseconds(0), kLongestSleep));
    spin_.slept(Clock::now() - begin);
  }
  sleeping_.store(false);
}

}  // namespace dhpvm::offload
