// SPDX-License-Identifier: Apache-2.0
// Operations in flight in a driver: their waits, signals, and the objects that they keep alive.
//
// Drivers have events, which happen once and carry at best a number; the interface of devices has semaphores, which
// count, and fail with an Error that reaches every dependent operation. The tracker turns one into the other. It has no
// thread: it polls events on demand (for a semaphore's value, or the end of a queue) and when a queue has gathered many
// operations. A submission is settled when it is known that it has ended, and whether it has failed; it is concluded
// when its resources were released, and its semaphores were raised or made to fail.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "offload/devices/checked_queue.h"
#include "offload/devices/device_base.h"
#include "offload/devices/timeline.h"
#include "offload/drivers/driver_event.h"

namespace dhpvm::offload {

class SubmissionTracker;
struct QueueLedger;

struct Submission {
  std::shared_ptr<QueueLedger> queue;
  Operation operation;
  // The submissions that raise the semaphores of operation.waits; null for values that were reached already.
  std::vector<std::shared_ptr<Submission>> after;
  std::unique_ptr<DriverEvent> event;  // null if the driver has never got it, because of `failure`
  // The tracker's mutex guards the members below.
  std::shared_ptr<const Error> failure;
  bool settled = false;
  bool concluded = false;
};
using SubmissionPointer = std::shared_ptr<Submission>;

// The submissions of one queue. The first two members are constant; the tracker's mutex guards the others.
struct QueueLedger {
  std::function<std::string(const Operation&)> describe;
  std::function<void(const OperationRecord&)> observer;
  std::deque<SubmissionPointer> in_flight;  // not settled, oldest first
  std::size_t ending = 0;                   // settled, but not concluded
  std::shared_ptr<const Error> failure;     // the first
  // The end of the last recorded operation; only the concluding thread uses it.
  std::chrono::nanoseconds recorded{0};
};

// A semaphore that submissions raise.
class DriverSemaphore final : public TimelineSemaphore {
 public:
  DriverSemaphore(SubmissionTracker& tracker, Timeline& timeline, std::uint64_t initial)
      : TimelineSemaphore(timeline, initial), tracker_(tracker) {}

  Result<std::uint64_t> value() override;
  Result<bool> wait(std::uint64_t value, Clock::time_point deadline) override;
  Status signal(std::uint64_t value) override;
  void fail(Error error) override;

 private:
  friend class SubmissionTracker;
  struct Point {
    std::uint64_t value;
    SubmissionPointer submission;
  };

  // The submission that raises it to at least `value`, if that is submitted and not concluded. With the tracker's mutex
  // held, as for add().
  SubmissionPointer raiser(std::uint64_t value) const;
  void add(Point point);

  SubmissionTracker& tracker_;
  // The tracker's mutex guards the members below.
  std::deque<Point> pending_;  // by value
  // The queue whose submissions raise it: mostly one, whose operations end in order.
  std::shared_ptr<const QueueLedger> queue_;
  bool has_several_queues_ = false;
};

// Thread-safe.
class SubmissionTracker {
 public:
  explicit SubmissionTracker(DeviceBase& device) : device_(device) {}

  // Called before the driver gets an operation: finds its waits, or the reason why it cannot be done any more.
  void plan(Submission& submission);
  // Called after the driver has got it.
  void publish(const SubmissionPointer& submission);
  // The latest submission of the queue if it is in flight; otherwise null.
  SubmissionPointer latest(const QueueLedger& queue);
  // Blocks until every submission of the queue is concluded.
  void drain(QueueLedger& queue);
  // Whether an operation that waits for `waits`, and comes after `previous` in its queue, will fail because the host
  // has made a semaphore fail. Calls no function of the driver.
  bool is_doomed(const std::vector<SemaphoreValue>& waits, const SubmissionPointer& previous);
  // Whether the submission has succeeded; nothing if that is not known yet. Does not block.
  std::optional<bool> outcome(const SubmissionPointer& submission);

 private:
  friend class DriverSemaphore;
  using Lock = std::unique_lock<std::mutex>;

  // All of these need mutex_ held; those that take the lock as a parameter release it in between.
  //
  // Settles `target` and its dependencies, as far as they have ended. Returns the submission that has to end next, or
  // null when `target` is settled.
  SubmissionPointer settle(const SubmissionPointer& target, Lock& lock);
  SubmissionPointer settle_all(const SubmissionPointer& target);
  void decide(const SubmissionPointer& submission);
  void conclude_ended(Lock& lock);
  // Blocks until the submission is concluded, or until `deadline`.
  void await(const SubmissionPointer& submission, Semaphore::Clock::time_point deadline, Lock& lock);
  void tidy(QueueLedger& queue, Lock& lock);

  DeviceBase& device_;
  std::mutex mutex_;
  std::condition_variable
      changed_;  // something was submitted or concluded, or the host has changed a semaphore
  std::deque<SubmissionPointer> ended_;       // settled and not concluded, in that order
  bool concluding_ = false;                   // a thread is concluding submissions
  std::atomic<bool> failed_by_host_ = false;  // whether the host has ever made a semaphore fail
};

}  // namespace dhpvm::offload
