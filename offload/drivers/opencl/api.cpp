// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/api.h"

#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

Result<std::shared_ptr<const OpenClApi>> OpenClApi::load(const std::string& library) {
  auto opened = Library::open({library});
  if (!opened.ok())
    return error(
        ErrorCode::kNotFound,
        "OpenCL is not installed: {}. Install the ICD loader (Debian: ocl-icd-libopencl1) and the driver of "
        "the device (for the processor: pocl-opencl-icd)",
        opened.error().message());
  const auto api = std::make_shared<OpenClApi>();
  api->library = std::move(opened).value();
#define X(name)                                                                        \
  api->name = reinterpret_cast<decltype(api->name)>(api->library->symbol("cl" #name)); \
  if (api->name == nullptr)                                                            \
    return error(ErrorCode::kUnsupported,                                              \
                 "{} has no function cl" #name                                         \
                 "; install an ICD loader for OpenCL 1.2 or "                          \
                 "newer (Debian: ocl-icd-libopencl1)",                                 \
                 library);
  DHPVM_OPENCL_FUNCTIONS(X)
#undef X
  return std::shared_ptr<const OpenClApi>(api);
}

std::string opencl_error_name(cl_int code) {
  switch (code) {
#define X(name) \
  case name: return fmt::format("{} ({})", #name, code);
    X(CL_DEVICE_NOT_FOUND)
    X(CL_DEVICE_NOT_AVAILABLE)
    X(CL_COMPILER_NOT_AVAILABLE)
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    X(CL_OUT_OF_RESOURCES)
    X(CL_OUT_OF_HOST_MEMORY)
    X(CL_PROFILING_INFO_NOT_AVAILABLE)
    X(CL_MEM_COPY_OVERLAP)
    X(CL_BUILD_PROGRAM_FAILURE)
    X(CL_MAP_FAILURE)
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    X(CL_INVALID_VALUE)
    X(CL_INVALID_PLATFORM)
    X(CL_INVALID_DEVICE)
    X(CL_INVALID_CONTEXT)
    X(CL_INVALID_QUEUE_PROPERTIES)
    X(CL_INVALID_COMMAND_QUEUE)
    X(CL_INVALID_HOST_PTR)
    X(CL_INVALID_MEM_OBJECT)
    X(CL_INVALID_BUILD_OPTIONS)
    X(CL_INVALID_PROGRAM)
    X(CL_INVALID_PROGRAM_EXECUTABLE)
    X(CL_INVALID_KERNEL_NAME)
    X(CL_INVALID_KERNEL)
    X(CL_INVALID_ARG_INDEX)
    X(CL_INVALID_ARG_VALUE)
    X(CL_INVALID_ARG_SIZE)
    X(CL_INVALID_KERNEL_ARGS)
    X(CL_INVALID_WORK_DIMENSION)
    X(CL_INVALID_WORK_GROUP_SIZE)
    X(CL_INVALID_WORK_ITEM_SIZE)
    X(CL_INVALID_GLOBAL_OFFSET)
    X(CL_INVALID_EVENT_WAIT_LIST)
    X(CL_INVALID_EVENT)
    X(CL_INVALID_OPERATION)
    X(CL_INVALID_BUFFER_SIZE)
    X(CL_INVALID_GLOBAL_WORK_SIZE)
#undef X
    default: return fmt::format("OpenCL error {}", code);
  }
}

Error opencl_error(cl_int code, std::string_view call) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return error(ErrorCode::kDeviceExhausted, "{} failed with {}: the device has not enough memory left",
                   call, opencl_error_name(code));
    case CL_DEVICE_NOT_AVAILABLE:
      return error(ErrorCode::kDeviceLost, "{} failed with {}: the device does not answer any more", call,
                   opencl_error_name(code));
    default: return error(ErrorCode::kDeviceFailed, "{} failed with {}", call, opencl_error_name(code));
  }
}

}  // namespace dhpvm::offload
