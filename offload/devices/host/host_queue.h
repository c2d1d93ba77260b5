// SPDX-License-Identifier: Apache-2.0
// The two queues of devices that compute with the host's processors: one does what it is given at once, the other has a
// thread for it.
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
  // Kernels, which are HostKernels, run on `pool`.
  HostQueue(DeviceBase& device, ThreadPool& pool, QueueOptions options)
      : CheckedQueue(device, std::move(options)), pool_(pool) {}
  Status flush() override { return {}; }

 protected:
  bool takes_as_one(const std::vector<Operation>&) const override { return true; }
  // Waits, does it, signals.
  void carry_out(Operation operation);

 private:
  // `begin`, by the device's clock; moves on to the end.
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
  // The thread calls `prepare` before anything else, if there is one: to choose its processors, say, which the threads
  // that it starts inherit. Fails when the system starts no thread.
  static Result<std::unique_ptr<Queue>> create(DeviceBase& device, ThreadPool& pool, QueueOptions options,
                                               std::function<void()> prepare = nullptr);
  ~ThreadedQueue() override;
  ThreadedQueue(const ThreadedQueue&) = delete;
  ThreadedQueue& operator=(const ThreadedQueue&) = delete;

  // Does something useful until there is work again, or not for long: to receive the next operation, say, which then
  // wakes nobody.
  using IdleWork = std::function<void(const std::function<bool()>& has_work)>;
  // For the thread, where short operations that copy nothing follow each other. Before the first operation.
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

  // Operations that take less together do not keep the thread from other things: so long nobody is missed in its place.
  static constexpr std::chrono::milliseconds kBrief{1};

  // For the thread alone.
  AdaptiveSpin spin_;
  AdaptiveSpin::Clock::time_point busy_since_;
  bool has_copied_ = true;  // since then

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;          // submitted, not begun
  std::atomic<std::uint64_t> submitted_ = 0;  // tells without the mutex that there are new ones
  bool closing_ = false;
  IdleWork idle_work_;
  Thread thread_;
};

}  // namespace dhpvm::offload
