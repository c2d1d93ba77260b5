// SPDX-License-Identifier: Apache-2.0
// The two kinds of queues of devices that compute on the host's processors: InlineQueue does each operation during
// submission, ThreadedQueue has a thread for them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "base/adaptive_spin.h"
#include "base/thread.h"
#include "base/thread_pool.h"
#include "offload/devices/checked_queue.h"

namespace dhpvm::offload {

class HostQueue : public CheckedQueue {
 public:
  // Kernels must be HostKernels, and run on `pool`.
  HostQueue(DeviceBase& device, ThreadPool& pool, QueueOptions options)
      : CheckedQueue(device, std::move(options)), pool_(pool) {}
  Status flush() override { return {}; }

 protected:
  bool takes_as_one(const std::vector<Operation>&) const override { return true; }
  // Waits until the operation may begin, does it, and signals.
  void carry_out(Operation operation);

 private:
  // `begin` is the operation's begin by the device's clock, and is set to its end.
  Status carry_out_one(Operation& operation, std::chrono::nanoseconds& begin);

  ThreadPool& pool_;
};

class InlineQueue final : public HostQueue {
 public:
  using HostQueue::HostQueue;

 protected:
  void submit(Operation operation) override { carry_out(std::move(operation)); }
};

class ThreadedQueue final : public HostQueue {
 public:
  // The thread first calls `prepare`, if there is one, for example to choose its processors, which threads that it
  // starts inherit. Fails if the system cannot start a thread.
  static Result<std::unique_ptr<Queue>> create(DeviceBase& device, ThreadPool& pool, QueueOptions options,
                                               std::function<void()> prepare = nullptr);
  ~ThreadedQueue() override;
  ThreadedQueue(const ThreadedQueue&) = delete;
  ThreadedQueue& operator=(const ThreadedQueue&) = delete;

  // Does something useful until has_work() is true, or for a short time: for example, it receives the next operation,
  // for which no thread has to be woken then.
  using IdleWork = std::function<void(const std::function<bool()>& has_work)>;
  // The thread calls `work` between short operations that copy nothing. Must be called before the first operation.
  void set_idle_work(IdleWork work);

 protected:
  void submit(Operation operation) override;

 private:
  using HostQueue::HostQueue;
  void work();
  void sleep(std::unique_lock<std::mutex>& lock);
  bool has_work();
  bool was_brief(AdaptiveSpin::Clock::time_point now) const {
    return !has_copied_ && now - busy_since_ < kBrief;
  }

  // A run of operations that takes less than this in all counts as short: idle work is not delayed by more.
  static constexpr std::chrono::milliseconds kBrief{1};

  // Used by the thread alone.
  AdaptiveSpin spin_;
  AdaptiveSpin::Clock::time_point busy_since_;
  bool has_copied_ = true;  // since then

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;          // submitted, not begun
  std::atomic<std::uint64_t> submitted_ = 0;  // shows without the mutex that there are new operations
  bool closing_ = false;
  IdleWork idle_work_;
  Thread thread_;
};

}  // namespace dhpvm::offload
