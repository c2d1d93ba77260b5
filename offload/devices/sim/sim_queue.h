// SPDX-License-Identifier: Apache-2.0
// The queue of the simulated device: does what it is given at once, and books when that would have been.
#pragma once

#include "offload/devices/checked_queue.h"
#include "offload/devices/sim/sim_device.h"

namespace dhpvm::offload {

class SimQueue final : public CheckedQueue {
 public:
  SimQueue(SimDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), sim_(device) {}
  // The host has waited for all operations, when this is over.
  ~SimQueue() override { sim_.clock().advance(end_); }
  SimQueue(const SimQueue&) = delete;
  SimQueue& operator=(const SimQueue&) = delete;
  Status flush() override { return {}; }

 protected:
  void submit(Operation operation) override;

 private:
  // When the operation may begin, of one whose waits are all over.
  VirtualTime ready(const Operation& operation, VirtualTime submitted) const;

  SimDevice& sim_;
  VirtualTime end_{0};  // of the last operation
};

}  // namespace dhpvm::offload
