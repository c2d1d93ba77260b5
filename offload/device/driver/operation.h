// SPDX-License-Identifier: Apache-2.0
// Operations that a driver has been given and that end some time; what they wait for, signal and keep alive.
//
// Drivers know events, which happen once and carry at best a number; the interface of devices knows semaphores, which
// count and fail with an Error that reaches every dependent. The tracker turns one into the other. It has no thread: it
// looks at events when somebody wants to know (a semaphore's value, the end of a queue) and when a queue has gathered
// many operations. To settle an operation is to draw the consequences of its end: its semaphores are raised or fail.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "offload/device/device.h"
#include "offload/device/semaphore.h"

namespace dhpvm::offload {

class OperationTracker;

// A driver's handle of one operation. Thread-safe.
class DriverEvent {
 public:
  virtual ~DriverEvent() = default;
  // Whether the operation has ended; the error if it has failed. Does not block.
  virtual Result<bool> ended() = 0;
  // Blocks until the operation has ended, or until `deadline`. It may return early.
  virtual void wait(Semaphore::Clock::time_point deadline) = 0;
  // Writes the times into `record`; only when the operation has ended and its queue has an observer. False when there
  // are none, as for an operation that failed.
  virtual bool measure(OperationRecord& record) = 0;
};

// DriverEvent::wait for drivers that can only be asked: sleeps for an eighth of the time waited so far, between 20 us and
// 1 ms, so that it neither keeps a core busy nor is late by more than that.
void poll(DriverEvent& event, Semaphore::Clock::time_point deadline);

struct Operation;

// A semaphore over operations. All but `tracker` is guarded by the tracker's mutex.
class DriverSemaphore final : public Semaphore {
 public:
  DriverSemaphore(std::shared_ptr<OperationTracker> tracker, std::uint64_t initial);

  Result<std::uint64_t> value() override;
  Result<bool> wait(std::uint64_t value, Clock::time_point deadline) override;
  Status signal(std::uint64_t value) override;
  void fail(Error error) override;

 private:
  friend class OperationTracker;
  struct Point {
    std::uint64_t value;
    std::shared_ptr<Operation> operation;
  };

  const std::shared_ptr<OperationTracker> tracker_;
  std::uint64_t reached_;
  std::uint64_t submitted_;  // the highest value that has been signalled, or will be by a submitted operation
  std::deque<Point> pending_;  // in order of their values, all above reached_
  std::shared_ptr<const Error> failure_;
};

// The operations of one queue, as the tracker sees them. The first two members are constant, the rest is guarded by the
// tracker's mutex.
struct QueueLedger {
  std::string name;  // for messages: "queue 'upload' of opencl:0"
  std::function<void(const OperationRecord&)> observer;
  std::deque<std::shared_ptr<Operation>> in_flight;  // not settled, oldest first
  std::shared_ptr<const Error> failure;              // of the first operation that failed
  std::uint32_t reporting = 0;                       // threads that are about to call the observer
};

struct Operation {
  struct Wait {
    std::shared_ptr<DriverSemaphore> semaphore;
    std::uint64_t value = 0;
    std::shared_ptr<Operation>
        operation;  // the one that raises it that far; null when that has happened already
  };
  struct Signal {
    std::shared_ptr<DriverSemaphore> semaphore;
    std::uint64_t value = 0;
  };

  std::shared_ptr<QueueLedger> queue;
  std::unique_ptr<DriverEvent> event;  // null when the driver has never been given it, because of `failure`
  std::vector<Wait> waits;
  std::vector<Signal> signals;
  std::vector<std::shared_ptr<const void>> uses;  // memory and kernels
  OperationRecord record;
  std::shared_ptr<const std::string> kernel;  // its name, for messages; null if this is no launch
  std::shared_ptr<const Error> failure;       // guarded by the tracker's mutex, like `settled`
  bool settled = false;
};

// What one device has been given. Thread-safe.
class OperationTracker {
 public:
  // What an operation with this order has to wait for, and how it stands with that.
  struct Plan {
    std::vector<Operation::Wait> waits;  // all of the order, reached or not
    std::vector<Operation::Signal> signals;
    std::shared_ptr<const Error> failure;  // the queue, or one of the semaphores waited for, has failed
  };

  // Called before an operation is given to the driver; fails when the order is not one that this device can obey.
  Result<Plan> plan(const QueueLedger& queue, const Order& order);
  // Called after that. From now on the operation's signals can be waited for.
  void submit(std::shared_ptr<Operation> operation);
  // The latest operation of the queue, if that is in flight.
  std::shared_ptr<Operation> latest(const QueueLedger& queue);
  // Blocks until every operation of the queue is settled and has been reported.
  void drain(QueueLedger& queue);
  // Settles what has ended if the queue has gathered many operations.
  void tidy(QueueLedger& queue);
  // Whether the operation succeeded; nothing if that is not known yet. Does not block.
  std::optional<bool> outcome(const std::shared_ptr<Operation>& operation);

 private:
  friend class DriverSemaphore;
  using Operations = std::vector<std::shared_ptr<Operation>>;

  // With mutex_ held. Settles `target` and what it depends on, as far as that has ended, and appends to `settled`.
  // Returns the operation that has to end next, or null when `target` is settled.
  std::shared_ptr<Operation> advance(const std::shared_ptr<Operation>& target, Operations& settled);
  void settle(Operation& operation);
  static void raise(DriverSemaphore& semaphore, std::uint64_t value);
  static void fail(DriverSemaphore& semaphore, std::shared_ptr<const Error> failure);
  // The same, but drops the lock to conclude what has been settled.
  std::shared_ptr<Operation> advance_and_conclude(const std::shared_ptr<Operation>& target,
                                                  std::unique_lock<std::mutex>& lock);
  // Without the mutex: calls observers, and drops what the operations have kept alive.
  void conclude(Operations& settled);

  std::mutex mutex_;
  std::condition_variable changed_;  // a semaphore or a queue's `reporting` has
};

}  // namespace dhpvm::offload
