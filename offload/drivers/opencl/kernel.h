// SPDX-License-Identifier: Apache-2.0
// A kernel that an OpenCL driver has compiled, and the number of work-items for its launches.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "offload/drivers/driver_queue.h"
#include "offload/drivers/opencl/opencl_device.h"

namespace dhpvm::offload {

class OpenClKernel final : public DriverKernel {
 public:
  static Result<std::shared_ptr<Kernel>> load(OpenClDevice& device, const KernelImage& image);
  ~OpenClKernel() override;

  // Thread-safe. Returns the code of clSetKernelArg or clEnqueueNDRangeKernel.
  // The launch may take several commands: `event` is the last one's. If
  // `begin` is not null, it gets the first one's, unless that is the last.
  cl_int enqueue(cl_command_queue queue, const Operation& launch, std::span<const cl_event> waits,
                 cl_event* event, cl_event* begin);

 private:
  OpenClKernel(OpenClDevice& device, const KernelImage& image);
  struct Build {
    cl_program program = nullptr;
    cl_kernel kernel = nullptr;
  };
  Status build(Build& build, const std::string& options);
  Status choose_groups();
  std::vector<LaunchPiece> pieces_of(const IterationSpace& space);
  cl_int set_arguments(cl_kernel kernel, const Operation& launch);

  const OpenClDevice& device_;
  const std::string text_;
  const std::string entry_;
  const std::string options_;
  Build distinct_;     // for launches whose arrays do not overlap
  Build overlapping_;  // for all launches; made when first needed
  GridLimits limits_;
  std::mutex mutex_;  // a cl_kernel holds the arguments of a launch
  PiecePlanner planner_;
};

}  // namespace dhpvm::offload
