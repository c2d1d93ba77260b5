// SPDX-License-Identifier: Apache-2.0
// The queue of the simulated device: does each operation at once, and books its time on the virtual clock.
#pragma once

#include "offload/devices/checked_queue.h"
#include "offload/devices/sim/sim_device.h"

namespace dhpvm::offload {

class SimQueue final : public CheckedQueue {
 public:
  SimQueue(SimDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), sim_(device) {}
  // Waits for all operations, so the host's time moves on to the end of the last one.
  ~SimQueue() override { sim_.clock().advance(end_); }
  SimQueue(const SimQueue&) = delete;
  SimQueue& operator=(const SimQueue&) = delete;
  Status flush() override { return {}; }

 protected:
  void submit(Operation operation) override;

 private:
  // When an operation may begin whose waits are over.
  VirtualTime ready(const Operation& operation, VirtualTime submitted) const;

  SimDevice& sim_;
  VirtualTime end_{0};  // of the last operation
};

}  // namespace dhpvm::offload
