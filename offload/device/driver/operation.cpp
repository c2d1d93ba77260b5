// SPDX-License-Identifier: Apache-2.0
#include "offload/device/driver/operation.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// A queue with this many operations in flight is looked at when it gets more: what has ended need not be kept alive, and
// waiting for the last one would have to settle all of them at once.
constexpr std::size_t kManyInFlight = 32;
constexpr std::size_t kTidyStep = 16;

std::string describe(const Operation& operation) {
  using Kind = OperationRecord::Kind;
  const std::string& queue = operation.queue->name;
  switch (operation.record.kind) {
    case Kind::kUpload: return fmt::format("upload of {} bytes in {}", operation.record.bytes, queue);
    case Kind::kDownload: return fmt::format("download of {} bytes in {}", operation.record.bytes, queue);
    case Kind::kDeviceCopy: return fmt::format("copy of {} bytes in {}", operation.record.bytes, queue);
    case Kind::kFill: return fmt::format("fill of {} bytes in {}", operation.record.bytes, queue);
    case Kind::kHostCall: return fmt::format("call of the host in {}", queue);
    case Kind::kLaunch: break;
  }
  return fmt::format("kernel '{}' in {}", operation.kernel ? *operation.kernel : "?", queue);
}

}  // namespace

void poll(DriverEvent& event, Semaphore::Clock::time_point deadline) {
  using Clock = Semaphore::Clock;
  constexpr Clock::duration kShortest = std::chrono::microseconds(20);
  constexpr Clock::duration kLongest = std::chrono::milliseconds(1);
  const Clock::time_point begin = Clock::now();
  while (true) {
    const Result<bool> ended = event.ended();
    if (!ended.ok() || *ended) return;
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return;
    const Clock::duration pause = std::clamp((now - begin) / 8, kShortest, kLongest);
    std::this_thread::sleep_for(std::min(pause, deadline - now));
  }
}

DriverSemaphore::DriverSemaphore(std::shared_ptr<OperationTracker> tracker, std::uint64_t initial)
    : tracker_(std::move(tracker)), reached_(initial), submitted_(initial) {}

Result<std::uint64_t> DriverSemaphore::value() {
  std::unique_lock lock(tracker_->mutex_);
  // Later points may be reached before earlier ones, but not if they belong to the same queue.
  std::vector<const QueueLedger*> busy;
  for (std::size_t i = 0; i < pending_.size();) {
    const std::shared_ptr<Operation> operation = pending_[i].operation;
    if (std::ranges::find(busy, operation->queue.get()) != busy.end()) {
      ++i;
    } else if (tracker_->advance_and_conclude(operation, lock) == nullptr) {
      i = 0;  // this point is gone, and so are all below it
    } else {
      busy.push_back(operation->queue.get());
      ++i;
    }
  }
  if (failure_) return *failure_;
  return reached_;
}

Result<bool> DriverSemaphore::wait(std::uint64_t value, Clock::time_point deadline) {
  std::unique_lock lock(tracker_->mutex_);
  const bool forever = deadline == Clock::time_point::max();
  while (true) {
    if (reached_ >= value) return true;
    if (failure_) return *failure_;
    const auto point = std::ranges::lower_bound(pending_, value, {}, &Point::value);
    if (point == pending_.end()) {
      // Another thread may be about to submit or to signal it.
      if (!forever && Clock::now() >= deadline) return false;
      if (forever) {
        tracker_->changed_.wait(lock);
      } else {
        tracker_->changed_.wait_until(lock, deadline);
      }
      continue;
    }
    const std::shared_ptr<Operation> target = point->operation;
    const std::shared_ptr<Operation> next = tracker_->advance_and_conclude(target, lock);
    if (next == nullptr) continue;
    if (!forever && Clock::now() >= deadline) return false;
    lock.unlock();
    next->event->wait(deadline);
    lock.lock();
  }
}

Status DriverSemaphore::signal(std::uint64_t value) {
  const std::lock_guard lock(tracker_->mutex_);
  if (failure_) return *failure_;
  if (value <= submitted_)
    return error(
        ErrorCode::kInvalidArgument,
        "a semaphore cannot be raised to {}: it has been, or will be, raised to {}; values only grow", value,
        submitted_);
  OperationTracker::raise(*this, value);
  tracker_->changed_.notify_all();
  return {};
}

void DriverSemaphore::fail(Error error) {
  std::unique_lock lock(tracker_->mutex_);
  // What has been reached stays so: whoever waited for that has not been failed by this.
  while (!pending_.empty() &&
         tracker_->advance_and_conclude(std::shared_ptr(pending_.front().operation), lock) == nullptr) {
  }
  OperationTracker::fail(*this, std::make_shared<const Error>(std::move(error)));
  tracker_->changed_.notify_all();
}

void OperationTracker::raise(DriverSemaphore& semaphore, std::uint64_t value) {
  if (semaphore.failure_) return;
  semaphore.reached_ = std::max(semaphore.reached_, value);
  semaphore.submitted_ = std::max(semaphore.submitted_, value);
  while (!semaphore.pending_.empty() && semaphore.pending_.front().value <= semaphore.reached_)
    semaphore.pending_.pop_front();
}

void OperationTracker::fail(DriverSemaphore& semaphore, std::shared_ptr<const Error> failure) {
  if (semaphore.failure_) return;
  semaphore.failure_ = std::move(failure);
  semaphore.pending_.clear();
}

Result<OperationTracker::Plan> OperationTracker::plan(const QueueLedger& queue, const Order& order) {
  const auto own = [this](const std::shared_ptr<Semaphore>& semaphore) -> std::shared_ptr<DriverSemaphore> {
    auto found = std::dynamic_pointer_cast<DriverSemaphore>(semaphore);
    return found != nullptr && found->tracker_.get() == this ? found : nullptr;
  };
  const auto foreign = [&queue] {
    return error(ErrorCode::kInvalidArgument,
                 "an operation in {} names a semaphore that another device has made; use this one's own",
                 queue.name);
  };
  Plan plan;
  plan.waits.reserve(order.waits.size());
  plan.signals.reserve(order.signals.size());
  for (const SemaphoreValue& wait : order.waits) {
    plan.waits.push_back({own(wait.semaphore), wait.value, nullptr});
    if (plan.waits.back().semaphore == nullptr) return foreign();
  }
  for (const SemaphoreValue& signal : order.signals) {
    plan.signals.push_back({own(signal.semaphore), signal.value});
    if (plan.signals.back().semaphore == nullptr) return foreign();
  }

  const std::lock_guard lock(mutex_);
  plan.failure = queue.failure;
  if (!plan.failure && !queue.in_flight.empty()) plan.failure = queue.in_flight.back()->failure;
  for (Operation::Wait& wait : plan.waits) {
    DriverSemaphore& semaphore = *wait.semaphore;
    if (wait.value <= semaphore.reached_) continue;
    if (semaphore.failure_) {
      if (!plan.failure) plan.failure = semaphore.failure_;
      continue;
    }
    const auto point =
        std::ranges::lower_bound(semaphore.pending_, wait.value, {}, &DriverSemaphore::Point::value);
    if (point == semaphore.pending_.end())
      return error(
          ErrorCode::kInvalidArgument,
          "an operation in {} waits for value {} of a semaphore, but no operation that signals it has "
          "been submitted; submit that one first",
          queue.name, wait.value);
    wait.operation = point->operation;
    if (!plan.failure) plan.failure = wait.operation->failure;
  }
  for (const Operation::Signal& signal : plan.signals) {
    if (signal.value <= signal.semaphore->submitted_ && !signal.semaphore->failure_)
      return error(
          ErrorCode::kInvalidArgument,
          "an operation in {} cannot raise a semaphore to {}: it has been, or will be, raised to {}; "
          "values only grow",
          queue.name, signal.value, signal.semaphore->submitted_);
  }
  return plan;
}

void OperationTracker::submit(std::shared_ptr<Operation> operation) {
  std::unique_lock lock(mutex_);
  for (const Operation::Signal& signal : operation->signals) {
    if (signal.semaphore->failure_) continue;
    signal.semaphore->submitted_ = std::max(signal.semaphore->submitted_, signal.value);
    signal.semaphore->pending_.push_back({signal.value, operation});
  }
  operation->queue->in_flight.push_back(operation);
  // Nothing else would ever look at it if the queue has nothing before it.
  if (operation->event == nullptr) advance_and_conclude(operation, lock);
  changed_.notify_all();
}

std::shared_ptr<Operation> OperationTracker::latest(const QueueLedger& queue) {
  const std::lock_guard lock(mutex_);
  return queue.in_flight.empty() ? nullptr : queue.in_flight.back();
}

void OperationTracker::drain(QueueLedger& queue) {
  std::unique_lock lock(mutex_);
  while (!queue.in_flight.empty()) {
    const std::shared_ptr<Operation> last = queue.in_flight.back();
    const std::shared_ptr<Operation> next = advance_and_conclude(last, lock);
    if (next == nullptr) continue;
    lock.unlock();
    next->event->wait(Semaphore::Clock::time_point::max());
    lock.lock();
  }
  changed_.wait(lock, [&] { return queue.reporting == 0; });
}

void OperationTracker::tidy(QueueLedger& queue) {
  std::unique_lock lock(mutex_);
  if (queue.in_flight.size() % kTidyStep != 0) return;
  while (queue.in_flight.size() >= kManyInFlight) {
    const std::shared_ptr<Operation> old = queue.in_flight[kTidyStep - 1];
    if (advance_and_conclude(old, lock) != nullptr) return;
  }
}

std::optional<bool> OperationTracker::outcome(const std::shared_ptr<Operation>& operation) {
  std::unique_lock lock(mutex_);
  if (advance_and_conclude(operation, lock) != nullptr) return std::nullopt;
  return operation->failure == nullptr;
}

std::shared_ptr<Operation> OperationTracker::advance_and_conclude(const std::shared_ptr<Operation>& target,
                                                                  std::unique_lock<std::mutex>& lock) {
  Operations settled;
  std::shared_ptr<Operation> next = advance(target, settled);
  if (!settled.empty()) {
    changed_.notify_all();
    lock.unlock();
    conclude(settled);
    lock.lock();
  }
  return next;
}

std::shared_ptr<Operation> OperationTracker::advance(const std::shared_ptr<Operation>& target,
                                                     Operations& settled) {
  if (target->settled) return nullptr;
  // The usual case, without a walk over all that is in flight. A failure is looked at again below.
  if (target->event != nullptr) {
    const Result<bool> ended = target->event->ended();
    if (ended.ok() && !*ended) return target;
  }
  // An operation ends after those before it in its queue and those that it waits for; a driver may end it early when one
  // of them has failed. Chains of these may be as long as a program: no recursion.
  Operations stack = {target};
  while (!stack.empty()) {
    const std::shared_ptr<Operation> operation = stack.back();
    if (operation->settled) {
      stack.pop_back();
      continue;
    }
    if (const std::shared_ptr<Operation>& front = operation->queue->in_flight.front(); front != operation) {
      stack.push_back(front);
      continue;
    }
    const auto wait = std::ranges::find_if(operation->waits, [](const Operation::Wait& candidate) {
      return candidate.operation != nullptr && !candidate.operation->settled;
    });
    if (wait != operation->waits.end()) {
      stack.push_back(wait->operation);
      continue;
    }
    if (operation->event != nullptr) {
      const Result<bool> ended = operation->event->ended();
      if (ended.ok() && !*ended) return operation;
      if (!ended.ok())
        operation->failure =
            std::make_shared<const Error>(Error(ended.error()).with_context(describe(*operation)));
    }
    settle(*operation);
    settled.push_back(operation);
  }
  return nullptr;
}

void OperationTracker::settle(Operation& operation) {
  QueueLedger& queue = *operation.queue;
  // What failed first is the reason for the rest, whatever the driver says of that.
  for (const Operation::Wait& wait : operation.waits) {
    if (wait.semaphore->failure_ && wait.value > wait.semaphore->reached_)
      operation.failure = wait.semaphore->failure_;
  }
  if (queue.failure) operation.failure = queue.failure;
  if (operation.failure) queue.failure = operation.failure;
  for (const Operation::Signal& signal : operation.signals) {
    if (operation.failure) {
      fail(*signal.semaphore, operation.failure);
    } else {
      raise(*signal.semaphore, signal.value);
    }
  }
  if (queue.observer) ++queue.reporting;
  operation.settled = true;
  queue.in_flight.pop_front();
}

void OperationTracker::conclude(Operations& settled) {
  for (const std::shared_ptr<Operation>& operation : settled) {
    QueueLedger& queue = *operation->queue;
    if (queue.observer) {
      if (operation->failure == nullptr && operation->event->measure(operation->record))
        queue.observer(operation->record);
      const std::lock_guard lock(mutex_);
      --queue.reporting;
      changed_.notify_all();
    }
    // Of those that keep each other alive, the chain would be as long as a program. No other thread looks at these
    // members of a settled operation.
    operation->waits.clear();
    operation->signals.clear();
    operation->uses.clear();
  }
}

}  // namespace dhpvm::offload
