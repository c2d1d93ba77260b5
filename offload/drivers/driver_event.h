// SPDX-License-Identifier: Apache-2.0
// A driver's handle of one operation: an event that happens once.
#pragma once

#include <span>

#include "dhpvm/result.h"
#include "offload/devices/device.h"

namespace dhpvm::offload {

// Thread-safe.
class DriverEvent {
 public:
  virtual ~DriverEvent() = default;
  // Whether the operation has ended; the error if it has failed. Does not block.
  virtual Result<bool> ended() = 0;
  // Blocks until the operation has ended, or until `deadline`. May return early.
  virtual void wait(Semaphore::Clock::time_point deadline) = 0;
  // Writes the times into `records`: one for the operation, or one for each step of a batch. Called only after success,
  // and only if the queue has an observer. False when the driver does not report the times.
  virtual bool measure(std::span<OperationRecord> records) = 0;
};

// DriverEvent::wait for drivers that can only be polled: sleeps for an eighth of the time waited so far, between 20 and
// 125 us, so that it neither keeps a core busy nor is late by more than that.
void poll(DriverEvent& event, Semaphore::Clock::time_point deadline);

}  // namespace dhpvm::offload
