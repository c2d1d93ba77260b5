// SPDX-License-Identifier: Apache-2.0
// The thread of a transport: runs functions that are posted to it, now or later, and handles the events of connections.
//
// An idle thread spins for a moment before it sleeps (base/adaptive_spin.h): waking it costs more than most messages
// do. A thread that waits for an answer may take its place meanwhile (leader and followers): it handles the answer
// itself, so that no other thread has to be woken. "The progress thread" is the thread that leads: one at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "base/adaptive_spin.h"
#include "base/thread.h"

namespace dhpvm::offload {

// A source of events. One thread at a time uses it, except for wake().
class EventSource {
 public:
  virtual ~EventSource() = default;
  // Handles events; returns whether there were any.
  virtual bool poll() = 0;
  // Blocks until there may be an event, wake() has been called since the last wait, or `timeout` has passed.
  virtual void wait(std::chrono::milliseconds timeout) = 0;
  virtual void wake() = 0;
};

class ProgressThread {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressThread(EventSource& source) : source_(source) {}
  ~ProgressThread() { stop(); }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // Fails with the reason if the system refuses a thread.
  Status start();
  // Runs `last` on the thread, drops posted functions that have not run, and waits for the thread's end. May be called
  // twice.
  void stop(std::function<void()> last = {});

  // Thread-safe. Functions that are due at the same time run in the order in which they were posted.
  void post(std::function<void()> function) { post_at(Clock::time_point::min(), std::move(function)); }
  void post_at(Clock::time_point when, std::function<void()> function);
  // Runs the function on the thread, and waits until it has run. From any thread, this one included.
  void run_and_wait(const std::function<void()>& function);
  bool is_current() const { return std::this_thread::get_id() == leader_.load(); }
  // As in Transport. From any thread.
  void attend(const std::function<bool()>& is_done, Clock::time_point deadline);
  void expect(std::int64_t answers) { expected_.fetch_add(answers); }

 private:
  struct Entry {
    Clock::time_point when;
    std::uint64_t number;
    std::function<void()> function;
    // The earliest entry is the largest, as std::priority_queue needs it.
    bool operator<(const Entry& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };

  void run();
  bool turn(Clock::time_point& idle_since, Clock::time_point until);
  bool run_due();
  void sleep(Clock::time_point until);
  bool stands_back();
  void follow();
  void call();

  EventSource& source_;
  Thread thread_;
  std::atomic<bool> stopping_ = false;
  std::function<void()> last_;
  // Set before the last look for work before sleeping, so that a thread that adds work sees it.
  std::atomic<bool> sleeping_ = false;
  AdaptiveSpin spin_;

  // Held by the leader; guards the source, and everything that belongs to the progress thread.
  std::mutex lead_;
  std::atomic<std::thread::id> leader_;     // the default value: no thread
  std::atomic<std::uint64_t> visits_ = 0;   // by other threads: counts begins and ends
  std::atomic<std::int64_t> expected_ = 0;  // the number of answers that are waited for
  std::atomic<Clock::rep> wanted_ = 0;      // the last time that another thread found this one leading
  std::atomic<Clock::rep> reserved_ = 0;    // other threads do not lead until then
  unsigned hurried_ = 0;                    // visits in a row that found events at once; only for the leader
  std::mutex turn_mutex_;
  std::condition_variable turn_;
  bool is_called_ = false;  // guarded by turn_mutex_

  std::mutex mutex_;
  std::priority_queue<Entry> entries_;
  std::atomic<std::uint64_t> added_ = 0;  // entries ever added; shows new ones without the mutex
  std::uint64_t seen_ = 0;                // added_ at the last call of run_due()
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace dhpvm::offload
