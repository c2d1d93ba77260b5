// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/host/host_queue.h"

#include <utility>

#include "base/error.h"
#include "offload/devices/host_code.h"

namespace dhpvm::offload {
namespace {

// Whether it copies data that somebody else may be receiving or sending at the same time.
bool copies(const Operation& operation) {
  using Kind = OperationRecord::Kind;
  const Kind kind = operation.record.kind;
  return !operation.is_batch() &&
         (kind == Kind::kUpload || kind == Kind::kDownload || kind == Kind::kDeviceCopy);
}

}  // namespace

void HostQueue::carry_out(Operation operation) {
  Status status = await(operation);
  std::chrono::nanoseconds time = device().now();
  if (status.ok() && !operation.is_batch()) status = carry_out_one(operation, time);
  // Each step begins where the one before ends: the clock is read once for both.
  for (Operation& step : operation.steps) {
    if (status.ok()) status = carry_out_one(step, time);
  }
  finish(std::move(operation), std::move(status));
}

Status HostQueue::carry_out_one(Operation& operation, std::chrono::nanoseconds& begin) {
  operation.record.begin = begin;
  Status status = do_on_host(pool_, operation);
  operation.record.end = begin = device().now();
  if (status.ok()) return status;
  return std::move(status).error().with_context("while " + describe(operation));
}

Result<std::unique_ptr<Queue>> ThreadedQueue::create(DeviceBase& device, ThreadPool& pool,
                                                     QueueOptions options, std::function<void()> prepare) {
  std::unique_ptr<ThreadedQueue> made(new ThreadedQueue(device, pool, std::move(options)));
  Status started =
      made->thread_.start_once("dhpvm-queue", [queue = made.get(), prepare = std::move(prepare)] {
        if (prepare) prepare();
        queue->work();
      });
  if (started.ok()) return std::unique_ptr<Queue>(std::move(made));
  return error(ErrorCode::kDeviceFailed, "device '{}' has no thread for a queue: {}", device.info().name,
               started.error().message());
}

// Everything that the operations wait for has been submitted: they come to an end by themselves.
ThreadedQueue::~ThreadedQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ThreadedQueue::submit(Operation operation) {
  {
    const std::lock_guard lock(mutex_);
    operations_.push_back(std::move(operation));
    submitted_.fetch_add(1);
  }
  changed_.notify_one();
}

void ThreadedQueue::set_idle_work(IdleWork work) {
  const std::lock_guard lock(mutex_);
  idle_work_ = std::move(work);
}

bool ThreadedQueue::has_work() {
  const std::lock_guard lock(mutex_);
  return closing_ || !operations_.empty();
}

void ThreadedQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (operations_.empty() && !closing_) {
      sleep(lock);
      busy_since_ = AdaptiveSpin::Clock::now();
      has_copied_ = false;
    }
    if (operations_.empty()) return;
    Operation operation = std::move(operations_.front());
    operations_.pop_front();
    lock.unlock();
    has_copied_ = has_copied_ || copies(operation);
    carry_out(std::move(operation));
    lock.lock();
  }
}

// Until there is something to do. Short operations are done sooner than the next one is submitted: to be
// woken for each of them would cost more than all of them take.
void ThreadedQueue::sleep(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t seen = submitted_.load();
  const auto idle_since = AdaptiveSpin::Clock::now();
  const bool works = idle_work_ && was_brief(idle_since);
  lock.unlock();
  if (works) {
    idle_work_([this] { return has_work(); });
  } else {
    while (submitted_.load() == seen && spin_.again(idle_since)) {
    }
  }
  lock.lock();
  if (!operations_.empty() || closing_) return;
  const auto begin = AdaptiveSpin::Clock::now();
  changed_.wait(lock, [this] { return closing_ || !operations_.empty(); });
  spin_.slept(AdaptiveSpin::Clock::now() - begin);
}

}  // namespace dhpvm::offload
