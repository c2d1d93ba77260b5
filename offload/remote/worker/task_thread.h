// SPDX-License-Identifier: Apache-2.0
// A thread for tasks that may take long and so must not run on the progress thread. It runs one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/thread.h"

namespace dhpvm::offload {

class TaskThread {
 public:
  TaskThread() = default;
  // Waits for all tasks. Must not be called from a task.
  ~TaskThread() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Fails if the system refuses a thread: the task does not run then.
  Status post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      DHPVM_TRY(thread_.start_once("dhpvm-tasks", [this] { work(); }));
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return {};
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  Thread thread_;  // started by the first task
};

}  // namespace dhpvm::offload
