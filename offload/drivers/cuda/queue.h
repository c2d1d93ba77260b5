// SPDX-License-Identifier: Apache-2.0
// Queues of CUDA devices: one stream each.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "offload/drivers/cuda/cuda_device.h"
#include "offload/drivers/cuda/graph.h"
#include "offload/drivers/driver_queue.h"

namespace dhpvm::offload {

class CudaQueue final : public DriverQueue {
 public:
  static Result<std::unique_ptr<Queue>> create(CudaDevice& device, QueueOptions options);
  ~CudaQueue() override;

  // Streams begin their operations by themselves.
  Status flush() override { return {}; }

 protected:
  Enqueued enqueue_copy(const Operation& copy, const Waits& waits) override;
  Enqueued enqueue_fill(const Operation& fill, const Waits& waits) override;
  Enqueued enqueue_launch(const Operation& launch, const Waits& waits) override;
  Enqueued enqueue_host_call(std::function<void()> function, const Operation& operation,
                             const Waits& waits) override;
  Enqueued enqueue_batch(const Operation& batch, const Waits& waits) override;
  Enqueued enqueue_nothing(const Waits& waits) override;
  bool is_usable(const DeviceMemory& memory) const override;
  bool takes_as_one(const std::vector<Operation>& steps) const override;

 private:
  CudaQueue(CudaDevice& device, cu::Stream stream, QueueOptions options)
      : DriverQueue(device, device.tracker(), std::move(options)),
        device_(device),
        stream_(stream),
        recordings_(device) {}
  // Waits for `waits`, calls enqueue(), which returns the driver's code, and marks the end. `call`: the name of the
  // driver's function.
  template <typename Enqueue>
  Result<std::unique_ptr<CudaEvent>> submit_one(const char* call, const Waits& waits, Enqueue&& enqueue);
  template <typename Enqueue>
  Enqueued submit(const char* call, const Waits& waits, Enqueue&& enqueue);
  Enqueued launch_graph(const CudaRecordings::Recording& recording, const Waits& waits, cu::Code& code);
  Enqueued launch_steps(const CudaRecordings::Recording& recording, const std::vector<Operation>& steps,
                        const Waits& waits);

  cu::Code enqueue_step(const Operation& step);
  cu::Code copy_whole(const Operation& copy);
  // Copies between the device and host memory that its engines cannot access.
  cu::Code copy_staged(const Operation& copy);

  CudaDevice& device_;
  cu::Stream const stream_;
  std::byte* staging_ = nullptr;  // pinned; allocated when it is first needed
  CudaRecordings recordings_;
};

}  // namespace dhpvm::offload
