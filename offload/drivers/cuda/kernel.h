// SPDX-License-Identifier: Apache-2.0
// A kernel that the CUDA driver has assembled, and the number of threads for its launches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "offload/drivers/cuda/cuda_device.h"
#include "offload/drivers/driver_queue.h"

namespace dhpvm::offload {

class CudaKernel final : public DriverKernel {
 public:
  static Result<std::shared_ptr<Kernel>> load(CudaDevice& device, const KernelImage& image);
  ~CudaKernel() override;

  std::uint64_t row_unit(const IterationSpace& space) const override { return rows_for(space, limits_); }
  // kInvalidArgument for arrays that are not laid out as kernels expect.
  Status check(const Operation& launch) const;
  // Thread-safe. The device's context must be current.
  cu::Code enqueue(cu::Stream stream, const Operation& launch) const;
  // The arguments of a launch, in the form that the driver takes.
  struct Arguments {
    Arguments(const CudaKernel& kernel, const Operation& launch);
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    std::vector<std::uint64_t> values;
    std::vector<void*> pointers;
  };
  // The launch as a node of a graph, which refers to `arguments`.
  cu::KernelNodeParams node(const Operation& launch, Arguments& arguments) const;
  // Unique among the kernels of this device.
  std::uint64_t number() const { return number_; }

 private:
  CudaKernel(CudaDevice& device, const KernelImage& image)
      : DriverKernel(device, image), device_(device), number_(device.next_number()) {}
  Status assemble(const KernelImage& image);
  Status check_local_memory(const KernelImage& image);
  Status choose_blocks(const KernelImage& image);

  CudaDevice& device_;
  const std::uint64_t number_;
  cu::Module module_ = nullptr;
  cu::Function function_ = nullptr;
  GridLimits limits_;
};

}  // namespace dhpvm::offload
