// SPDX-License-Identifier: Apache-2.0
// The functions of OpenCL 1.2 that are used here, as one table that is filled when the ICD loader is loaded.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <string>
#include <string_view>

#include "dhpvm/result.h"
#include "offload/drivers/library.h"

namespace dhpvm::offload {

// X(name without "cl")
#define DHPVM_OPENCL_FUNCTIONS(X) \
  X(GetPlatformIDs)               \
  X(GetPlatformInfo)              \
  X(GetDeviceIDs)                 \
  X(GetDeviceInfo)                \
  X(CreateContext)                \
  X(ReleaseContext)               \
  X(CreateCommandQueue)           \
  X(ReleaseCommandQueue)          \
  X(CreateBuffer)                 \
  X(ReleaseMemObject)             \
  X(CreateProgramWithSource)      \
  X(BuildProgram)                 \
  X(GetProgramBuildInfo)          \
  X(ReleaseProgram)               \
  X(CreateKernel)                 \
  X(ReleaseKernel)                \
  X(SetKernelArg)                 \
  X(GetKernelWorkGroupInfo)       \
  X(EnqueueNDRangeKernel)         \
  X(EnqueueReadBuffer)            \
  X(EnqueueWriteBuffer)           \
  X(EnqueueCopyBuffer)            \
  X(EnqueueFillBuffer)            \
  X(EnqueueMapBuffer)             \
  X(EnqueueUnmapMemObject)        \
  X(EnqueueMarkerWithWaitList)    \
  X(EnqueueBarrierWithWaitList)   \
  X(Flush)                        \
  X(Finish)                       \
  X(WaitForEvents)                \
  X(GetEventInfo)                 \
  X(GetEventProfilingInfo)        \
  X(SetEventCallback)             \
  X(ReleaseEvent)                 \
  X(CreateUserEvent)              \
  X(SetUserEventStatus)

struct OpenClApi {
#define X(name) decltype(&::cl##name) name = nullptr;
  DHPVM_OPENCL_FUNCTIONS(X)
#undef X
  std::unique_ptr<Library> library;

  // kNotFound, with what to install, when there is no `library`, by default the ICD loader.
  static Result<std::shared_ptr<const OpenClApi>> load(const std::string& library = "libOpenCL.so.1");
};

// "CL_OUT_OF_RESOURCES (-5)"
std::string opencl_error_name(cl_int code);
// The error for a failed call: out of memory, lost, or simply refused. `call` is its name, "clFlush".
Error opencl_error(cl_int code, std::string_view call);

}  // namespace dhpvm::offload
