// SPDX-License-Identifier: Apache-2.0
// A kernel that the CUDA driver has assembled, and how many threads to give it.
#pragma once

#include <memory>

#include "offload/drivers/cuda/cuda_device.h"
#include "offload/drivers/driver_queue.h"

namespace dhpvm::offload {

class CudaKernel final : public DriverKernel {
 public:
  static Result<std::shared_ptr<Kernel>> load(CudaDevice& device, const KernelImage& image);
  ~CudaKernel() override;

  std::uint64_t row_unit(const IterationSpace& space) const override {
    return rows_for_squares(space, limits_);
  }
  // kInvalidArgument for arrays that do not lie as kernels expect.
  Status check(const Operation& launch) const;
  // Thread-safe. The device's context must be current.
  cu::Code enqueue(cu::Stream stream, const Operation& launch) const;

 private:
  CudaKernel(CudaDevice& device, const KernelImage& image) : DriverKernel(device, image), device_(device) {}
  Status assemble(const KernelImage& image);
  Status check_local_memory(const KernelImage& image);
  Status choose_blocks(const KernelImage& image);

  CudaDevice& device_;
  cu::Module module_ = nullptr;
  cu::Function function_ = nullptr;
  GridLimits limits_;
};

}  // namespace dhpvm::offload
