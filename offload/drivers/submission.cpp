// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/submission.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

namespace dhpvm::offload {
namespace {

using Clock = Semaphore::Clock;

// With this many operations in flight, a queue that gets more is tidied: ended ones need not be kept alive, and a wait
// for the last one would have to settle all of them at once.
constexpr std::size_t kManyInFlight = 32;
constexpr std::size_t kTidyStep = 16;

DriverSemaphore& own(const SemaphoreValue& entry) { return static_cast<DriverSemaphore&>(*entry.semaphore); }

}  // namespace

SubmissionPointer DriverSemaphore::raiser(std::uint64_t value) const {
  const auto point = std::ranges::lower_bound(pending_, value, {}, &Point::value);
  return point == pending_.end() ? nullptr : point->submission;
}

void DriverSemaphore::add(Point point) {
  if (queue_ == nullptr) queue_ = point.submission->queue;
  has_several_queues_ = has_several_queues_ || queue_ != point.submission->queue;
  pending_.push_back(std::move(point));
}

Result<std::uint64_t> DriverSemaphore::value() {
  SubmissionTracker::Lock lock(tracker_.mutex_);
  // Later points may be reached before earlier ones, but not within one queue.
  std::vector<const QueueLedger*> busy;
  for (std::size_t i = 0; i < pending_.size();) {
    const SubmissionPointer submission = pending_[i].submission;
    if (!submission->settled && std::ranges::find(busy, submission->queue.get()) == busy.end()) {
      if (tracker_.settle(submission, lock) != nullptr) {
        // A thousand may be in flight, and this runs before each loop.
        if (!has_several_queues_) break;
        busy.push_back(submission->queue.get());
      } else if (submission->concluded) {
        i = 0;  // this point is gone, and so are all before it
        continue;
      }
    }
    ++i;
  }
  return TimelineSemaphore::value();
}

Result<bool> DriverSemaphore::wait(std::uint64_t value, Clock::time_point deadline) {
  SubmissionTracker::Lock lock(tracker_.mutex_);
  while (true) {
    Result<bool> reached = has_reached(value);
    if (!reached.ok() || *reached) return reached;
    const bool late = deadline != Clock::time_point::max() && Clock::now() >= deadline;
    if (const SubmissionPointer submission = raiser(value)) {
      if (late && (tracker_.settle(submission, lock) != nullptr || !submission->concluded))
        return has_reached(value);
      tracker_.await(submission, deadline, lock);
    } else if (late) {
      return false;
    } else if (deadline == Clock::time_point::max()) {
      tracker_.changed_.wait(lock);
    } else {
      // Another thread may be about to submit or to signal it.
      tracker_.changed_.wait_until(lock, deadline);
    }
  }
}

Status DriverSemaphore::signal(std::uint64_t value) {
  DHPVM_TRY(TimelineSemaphore::signal(value));
  const std::lock_guard lock(tracker_.mutex_);
  std::erase_if(pending_, [value](const Point& point) { return point.value <= value; });
  tracker_.changed_.notify_all();
  return {};
}

void DriverSemaphore::fail(Error error) {
  // Values reached by now stay reached.
  static_cast<void>(value());
  TimelineSemaphore::fail(std::move(error));
  tracker_.failed_by_host_ = true;
  const std::lock_guard lock(tracker_.mutex_);
  pending_.clear();
  tracker_.changed_.notify_all();
}

void SubmissionTracker::plan(Submission& submission) {
  const std::vector<SemaphoreValue>& waits = submission.operation.waits;
  submission.after.resize(waits.size());
  Lock lock(mutex_);
  const QueueLedger& queue = *submission.queue;
  submission.failure = queue.failure;
  if (!queue.in_flight.empty() && queue.in_flight.back()->failure)
    submission.failure = queue.in_flight.back()->failure;
  for (std::size_t n = 0; n < waits.size() && !submission.failure; ++n) {
    DriverSemaphore& semaphore = own(waits[n]);
    while (true) {
      const Result<bool> reached = semaphore.has_reached(waits[n].value);
      if (!reached.ok()) submission.failure = std::make_shared<const Error>(reached.error());
      if (!reached.ok() || *reached) break;
      submission.after[n] = semaphore.raiser(waits[n].value);
      if (submission.after[n] != nullptr) {
        if (submission.after[n]->failure) submission.failure = submission.after[n]->failure;
        break;
      }
      // The value is promised, but the submitting thread is still passing the operation to the driver.
      changed_.wait(lock);
    }
  }
}

void SubmissionTracker::publish(const SubmissionPointer& submission) {
  Lock lock(mutex_);
  for (const SemaphoreValue& signal : submission->operation.signals)
    own(signal).add({signal.value, submission});
  QueueLedger& queue = *submission->queue;
  queue.in_flight.push_back(submission);
  changed_.notify_all();
  // If the queue has nothing before it, nothing else would settle it.
  if (submission->event == nullptr) settle(submission, lock);
  tidy(queue, lock);
}

SubmissionPointer SubmissionTracker::latest(const QueueLedger& queue) {
  const std::lock_guard lock(mutex_);
  return queue.in_flight.empty() ? nullptr : queue.in_flight.back();
}

void SubmissionTracker::drain(QueueLedger& queue) {
  Lock lock(mutex_);
  while (!queue.in_flight.empty())
    await(SubmissionPointer(queue.in_flight.back()), Clock::time_point::max(), lock);
  changed_.wait(lock, [&] { return queue.ending == 0; });
}

bool SubmissionTracker::is_doomed(const std::vector<SemaphoreValue>& waits,
                                  const SubmissionPointer& previous) {
  // Without the mutex, because another thread may hold it while it calls the driver, which may wait for this one.
  if (!failed_by_host_) return false;
  const auto never = [](const SemaphoreValue& wait) { return !own(wait).has_reached(wait.value).ok(); };
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(waits, never)) return true;
  std::vector<SubmissionPointer> open;
  for (const SemaphoreValue& wait : waits) open.push_back(own(wait).raiser(wait.value));
  open.push_back(previous);
  std::set<Submission*> seen;
  while (!open.empty()) {
    const SubmissionPointer submission = std::move(open.back());
    open.pop_back();
    if (submission == nullptr || !seen.insert(submission.get()).second) continue;
    if (submission->failure) return true;
    if (submission->settled) continue;
    if (std::ranges::any_of(submission->operation.waits, never)) return true;
    std::ranges::copy(submission->after, std::back_inserter(open));
    for (const SubmissionPointer& earlier : submission->queue->in_flight) {
      if (earlier == submission) break;
      open.push_back(earlier);
    }
  }
  return false;
}

std::optional<bool> SubmissionTracker::outcome(const SubmissionPointer& submission) {
  Lock lock(mutex_);
  if (settle(submission, lock) != nullptr) return std::nullopt;
  return submission->failure == nullptr;
}

void SubmissionTracker::await(const SubmissionPointer& submission, Clock::time_point deadline, Lock& lock) {
  while (const SubmissionPointer next = settle(submission, lock)) {
    if (deadline != Clock::time_point::max() && Clock::now() >= deadline) return;
    lock.unlock();
    next->event->wait(deadline);
    lock.lock();
  }
  // Another thread may be concluding it, which takes so little time that the deadline can be ignored.
  changed_.wait(lock, [&] { return submission->concluded; });
}

void SubmissionTracker::tidy(QueueLedger& queue, Lock& lock) {
  if (queue.in_flight.size() % kTidyStep != 0) return;
  while (queue.in_flight.size() >= kManyInFlight) {
    const SubmissionPointer old = queue.in_flight[kTidyStep - 1];
    if (settle(old, lock) != nullptr) return;
  }
}

SubmissionPointer SubmissionTracker::settle(const SubmissionPointer& target, Lock& lock) {
  SubmissionPointer next = settle_all(target);
  if (!concluding_ && !ended_.empty()) conclude_ended(lock);
  return next;
}

SubmissionPointer SubmissionTracker::settle_all(const SubmissionPointer& target) {
  if (target->settled) return nullptr;
  // The usual case: no walk over everything in flight. A failure is examined below.
  if (target->event != nullptr) {
    const Result<bool> ended = target->event->ended();
    if (ended.ok() && !*ended) return target;
  }
  // An operation ends after the earlier ones in its queue and those that it waits for; a driver may end it early if one
  // of them has failed. Chains of these may be as long as a program, so this does not recurse.
  std::vector<SubmissionPointer> stack = {target};
  while (!stack.empty()) {
    const SubmissionPointer submission = stack.back();
    if (submission->settled) {
      stack.pop_back();
      continue;
    }
    if (const SubmissionPointer& front = submission->queue->in_flight.front(); front != submission) {
      stack.push_back(front);
      continue;
    }
    const auto pending = std::ranges::find_if(submission->after, [](const SubmissionPointer& other) {
      return other != nullptr && !other->settled;
    });
    if (pending != submission->after.end()) {
      stack.push_back(*pending);
      continue;
    }
    if (submission->event != nullptr) {
      Result<bool> ended = submission->event->ended();
      if (ended.ok() && !*ended) return submission;
      if (!ended.ok())
        submission->failure = std::make_shared<const Error>(std::move(ended).error().with_context(
            "while " + submission->queue->describe(submission->operation)));
    }
    decide(submission);
  }
  return nullptr;
}

// The first failure is the reason for all later ones, whatever the driver reports for those.
void SubmissionTracker::decide(const SubmissionPointer& submission) {
  QueueLedger& queue = *submission->queue;
  const std::vector<SemaphoreValue>& waits = submission->operation.waits;
  for (std::size_t n = 0; n < waits.size(); ++n) {
    if (submission->after[n] != nullptr && submission->after[n]->failure) {
      submission->failure = submission->after[n]->failure;
    } else if (const Result<bool> reached = own(waits[n]).has_reached(waits[n].value); !reached.ok()) {
      // The host has made it fail.
      submission->failure = std::make_shared<const Error>(reached.error());
    }
  }
  if (queue.failure) submission->failure = queue.failure;
  queue.failure = submission->failure;
  submission->settled = true;
  ++queue.ending;
  ended_.push_back(submission);
  queue.in_flight.pop_front();
}

// Done by one thread at a time, so that semaphores change in the order in which submissions have ended.
void SubmissionTracker::conclude_ended(Lock& lock) {
  concluding_ = true;
  while (!ended_.empty()) {
    const SubmissionPointer submission = std::move(ended_.front());
    ended_.pop_front();
    QueueLedger& queue = *submission->queue;
    Operation& operation = submission->operation;
    const std::shared_ptr<const Error> failure = submission->failure;
    const std::vector<SemaphoreValue> signals = std::move(operation.signals);
    lock.unlock();
    OperationRecord single = operation.record;
    std::vector<OperationRecord> several;
    for (const Operation& step : operation.steps) several.push_back(step.record);
    const std::span<OperationRecord> records =
        several.empty() ? std::span(&single, 1) : std::span<OperationRecord>(several);
    const bool measured = failure == nullptr && queue.observer && submission->event->measure(records);
    for (OperationRecord& record : records) {
      if (!measured) break;
      // Clocks are compared with an error of microseconds, so make sure that operations in order have times in order.
      record.begin = std::max(record.begin, queue.recorded);
      record.end = std::max(record.end, record.begin);
      queue.recorded = record.end;
    }
    // A wait for this operation may need its memory freed. Nor must submissions keep each other alive: the chain would
    // be as long as a program.
    submission->after.clear();
    operation = {};
    for (const OperationRecord& record : records) {
      if (failure == nullptr) device_.count(record);
      if (measured) queue.observer(record);
    }
    lock.lock();
    for (const SemaphoreValue& signal : signals) {
      DriverSemaphore& semaphore = own(signal);
      if (failure != nullptr) {
        semaphore.TimelineSemaphore::fail(*failure);
        semaphore.pending_.clear();
      } else {
        semaphore.reach(signal.value);
        std::erase_if(semaphore.pending_, [&](const auto& point) { return point.value <= signal.value; });
      }
    }
    submission->concluded = true;
    --queue.ending;
    changed_.notify_all();
  }
  concluding_ = false;
}

}  // namespace dhpvm::offload
