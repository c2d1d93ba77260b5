// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores: the only ordering between queues, and between a device and the host.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// A number that only grows. An operation of a queue waits until it has reached a value, and raises it to a
// value when it has been done. Failure is sticky: a semaphore that has failed never reaches another value,
// and every waiting thread gets the error.
//
// A semaphore belongs to the device that made it, and may be used with all of that device's queues. A value may only be
// waited for once the operation that signals it has been submitted (or the host has signalled it), so that no set of
// queues can wait for each other in a circle. Thread-safe.
class Semaphore {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Semaphore() = default;

  // The value reached by now, or the error if it has failed.
  virtual Result<std::uint64_t> value() = 0;
  // Blocks until the value is at least `value`; true. False when that was not so by `deadline`.
  virtual Result<bool> wait(std::uint64_t value, Clock::time_point deadline = Clock::time_point::max()) = 0;
  // By the host. `value` is above all that have been signalled or submitted to be.
  virtual Status signal(std::uint64_t value) = 0;
  virtual void fail(Error error) = 0;
};

struct SemaphoreValue {
  std::shared_ptr<Semaphore> semaphore;
  std::uint64_t value = 0;
};

// When an operation may begin, and what it tells when it is done.
struct Order {
  std::span<const SemaphoreValue> waits;
  std::span<const SemaphoreValue> signals;
};

}  // namespace dhpvm::offload
