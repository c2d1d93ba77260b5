// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/processors.h"

namespace dhpvm {
namespace {

// About the time that waking a sleeping thread takes: spinning then never costs more than twice the best choice.
constexpr std::chrono::microseconds kSpin{50};

// Waking costs the caller some microseconds, and the workers spin for nothing if no further loop comes: wake them after
// this many loops in close succession, when more can be expected.
constexpr std::uint32_t kStreak = 8;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

constexpr std::uint64_t pack(std::uint32_t next, std::uint32_t end) {
  return next | std::uint64_t{end} << 32;
}
constexpr std::uint32_t next_of(std::uint64_t range) { return static_cast<std::uint32_t>(range); }
constexpr std::uint32_t end_of(std::uint64_t range) { return static_cast<std::uint32_t>(range >> 32); }

}  // namespace

// The chunks of a share that are not taken yet: the owner takes them from the front, other threads from the back (work
// stealing). On a cache line of its own, because owners write it once per chunk.
struct alignas(64) ThreadPool::Share {
  std::atomic<std::uint64_t> range{0};

  bool take_first(std::uint32_t& chunk) {
    std::uint64_t range_now = range.load(std::memory_order_relaxed);
    while (next_of(range_now) != end_of(range_now)) {
      chunk = next_of(range_now);
      if (range.compare_exchange_weak(range_now, pack(chunk + 1, end_of(range_now)),
                                      std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  bool take_last(std::uint32_t& chunk) {
    std::uint64_t range_now = range.load(std::memory_order_relaxed);
    while (next_of(range_now) != end_of(range_now)) {
      chunk = end_of(range_now) - 1;
      if (range.compare_exchange_weak(range_now, pack(next_of(range_now), chunk), std::memory_order_relaxed))
        return true;
    }
    return false;
  }
};

// One loop. It lives on its caller's stack: no worker may touch it after `helpers` has reached 0.
struct ThreadPool::Job {
  Call call;
  const void* context;
  Share* shares;
  unsigned share_count;
  std::atomic<bool> exhausted{false};  // nothing is left to take
  std::atomic<unsigned> helpers{0};    // workers inside

  void participate(unsigned own) {
    std::uint32_t chunk = 0;
    if (own < share_count) {
      while (shares[own].take_first(chunk)) call(context, chunk);
    }
    for (unsigned step = 1; step <= share_count; ++step) {
      Share& victim = shares[(own + step) % share_count];
      while (victim.take_last(chunk)) call(context, chunk);
    }
    // Shares only ever shrink, so what was empty stays empty.
    exhausted.store(true, std::memory_order_relaxed);
  }
};

ThreadPool::ThreadPool(unsigned size)
    : size_(size != 0 ? size : usable_processors()), spins_(size_ <= usable_processors()) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    epoch_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (const Worker& worker : workers_) pthread_join(worker.thread, nullptr);
}

template <typename Predicate>
bool ThreadPool::spin_until(Predicate predicate) const {
  if (!spins_) return predicate();
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (predicate()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return predicate();
}

bool ThreadPool::ready_for_short_loop() {
  if (!spins_ || size_ == 1) return false;
  if (spinning_.load(std::memory_order_relaxed) > 0) return true;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::chrono::steady_clock::duration last(last_short_.load(std::memory_order_relaxed));
  last_short_.store(now.count(), std::memory_order_relaxed);
  const std::uint32_t streak = now - last < kSpin ? streak_.load(std::memory_order_relaxed) + 1 : 0;
  const bool wakes = streak >= kStreak;
  streak_.store(wakes ? 0 : streak, std::memory_order_relaxed);
  return wakes;
}

void ThreadPool::run(std::uint32_t count, Call call, const void* context) {
  const unsigned share_count = std::min<std::uint32_t>(size_, count);
  if (share_count <= 1) {
    for (std::uint32_t chunk = 0; chunk < count; ++chunk) call(context, chunk);
    return;
  }
  constexpr unsigned kOnStack = 16;
  std::array<Share, kOnStack> few;
  std::vector<Share> many(share_count > kOnStack ? share_count : 0);
  Share* const shares = many.empty() ? few.data() : many.data();
  for (unsigned i = 0; i < share_count; ++i) {
    const auto first = static_cast<std::uint32_t>(std::uint64_t{count} * i / share_count);
    const auto end = static_cast<std::uint32_t>(std::uint64_t{count} * (i + 1) / share_count);
    shares[i].range.store(pack(first, end), std::memory_order_relaxed);
  }
  Job job{call, context, shares, share_count};
  publish(job, share_count - 1);
  job.participate(0);
  withdraw(job);
}

// Under the mutex. If the system refuses a thread, the loops run with one helper less.
void ThreadPool::start_workers() {
  started_ = true;
  workers_.reserve(size_ - 1);
  // All signals are blocked in workers: see base/thread.h.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned share = 1; share < size_; ++share) {
    Worker& worker = workers_.emplace_back(Worker{this, share, {}});
    const auto entry = [](void* argument) -> void* {
      const Worker& self = *static_cast<const Worker*>(argument);
      self.pool->work(self.share);
      return nullptr;
    };
    if (pthread_create(&worker.thread, nullptr, entry, &worker) != 0) {
      workers_.pop_back();
      break;
    }
    pthread_setname_np(worker.thread, "dhpvm-worker");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::publish(Job& job, unsigned helpers) {
  unsigned to_wake = 0;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    if (!started_) start_workers();
    jobs_.push_back(&job);
    epoch_.fetch_add(1, std::memory_order_release);
    // A spinning worker needs no wake-up, and an unnecessary system call costs more than an empty loop.
    if (helpers > spinning_) to_wake = std::min(helpers - spinning_, sleeping_);
    all = to_wake == sleeping_;
  }
  if (to_wake > 1 && all) {
    wake_.notify_all();
  } else {
    for (unsigned i = 0; i < to_wake; ++i) wake_.notify_one();
  }
}

// Takes the job off the list, so that no worker joins any more, and waits for those that are inside.
void ThreadPool::withdraw(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
  }
  const auto left = [&] { return job.helpers.load(std::memory_order_acquire) == 0; };
  if (spin_until(left)) return;
  std::unique_lock lock(mutex_);
  ++waiting_callers_;
  finished_.wait(lock, left);
  --waiting_callers_;
}

// Under the mutex: the job with the fewest helpers among those with chunks left, so that isolates share the workers
// fairly.
ThreadPool::Job* ThreadPool::find_job() {
  Job* best = nullptr;
  for (Job* job : jobs_) {
    if (job->exhausted.load(std::memory_order_relaxed)) continue;
    if (best == nullptr ||
        job->helpers.load(std::memory_order_relaxed) < best->helpers.load(std::memory_order_relaxed))
      best = job;
  }
  return best;
}

void ThreadPool::work(unsigned share) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (Job* const job = find_job(); job != nullptr) {
      job->helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      job->participate(share);
      // Release: the caller, which may see the job as over now, must see what this worker has written.
      job->helpers.fetch_sub(1, std::memory_order_release);
      lock.lock();
      if (waiting_callers_ > 0) finished_.notify_all();
      continue;
    }
    if (stopping_) return;
    const std::uint32_t seen = epoch_.load(std::memory_order_relaxed);
    const auto published = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
    ++spinning_;
    lock.unlock();
    spin_until(published);
    lock.lock();
    --spinning_;
    if (published()) continue;
    ++sleeping_;
    wake_.wait(lock, published);
    --sleeping_;
  }
}

}  // namespace dhpvm
