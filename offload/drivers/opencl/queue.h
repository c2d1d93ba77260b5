// SPDX-License-Identifier: Apache-2.0
// Queues of OpenCL devices: one in-order command queue each.
#pragma once

#include <functional>
#include <memory>

#include "offload/drivers/driver_queue.h"
#include "offload/drivers/opencl/event.h"

namespace dhpvm::offload {

class OpenClQueue final : public DriverQueue {
 public:
  static Result<std::unique_ptr<Queue>> create(OpenClDevice& device, QueueOptions options);
  ~OpenClQueue() override { drain(); }

  Status flush() override;

 protected:
  Enqueued enqueue_copy(const Operation& copy, const Waits& waits) override;
  Enqueued enqueue_fill(const Operation& fill, const Waits& waits) override;
  Enqueued enqueue_launch(const Operation& launch, const Waits& waits) override;
  Enqueued enqueue_host_call(std::function<void()> function, const Operation& operation,
                             const Waits& waits) override;
  Enqueued enqueue_nothing(const Waits& waits) override;
  bool is_usable(const DeviceMemory& memory) const override;

 private:
  OpenClQueue(std::shared_ptr<CommandQueue> queue, QueueOptions options);
  // Calls enqueue(count, events, &event, &first) with the events of `waits`,
  // and returns its result as an Enqueued. `first` is for the first of several
  // commands, if that is not the last; null if the queue has no observer.
  template <typename Enqueue>
  Enqueued submit(const char* call, const Waits& waits, Enqueue&& enqueue);

  const std::shared_ptr<CommandQueue> queue_;
};

}  // namespace dhpvm::offload
