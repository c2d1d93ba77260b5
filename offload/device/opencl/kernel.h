// SPDX-License-Identifier: Apache-2.0
// A kernel that an OpenCL driver has compiled, and how many work-items to give it.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "offload/device/driver/driver_queue.h"
#include "offload/device/opencl/opencl_device.h"

namespace dhpvm::offload {

class OpenClKernel final : public DriverKernel {
 public:
  static Result<std::shared_ptr<Kernel>> load(OpenClDevice& device, const KernelImage& image);
  ~OpenClKernel() override;

  // Thread-safe. What clSetKernelArg or clEnqueueNDRangeKernel has answered.
  cl_int enqueue(cl_command_queue queue, const Operation& launch, std::span<const cl_event> waits,
                 cl_event* event);

 private:
  OpenClKernel(OpenClDevice& device, const KernelImage& image);
  Status build(const KernelImage& image);
  Status choose_groups(const KernelImage& image);
  cl_int set_arguments(const Operation& launch);

  const OpenClDevice& device_;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  GridLimits limits_;
  std::mutex mutex_;  // a cl_kernel holds its arguments
};

}  // namespace dhpvm::offload
