// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/driver_api.h"

#include <utility>

#include "base/error.h"

namespace dhpvm::offload::cu {
namespace {

// After such a code every later call on the device fails with the same code: only a new process can use it again.
bool is_lost(Code code) {
  switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

// Advice for a device that is lost.
const char* remedy_of_loss(Code code) {
  if (code != CUDA_ERROR_LAUNCH_TIMEOUT) return "";
  return ": a kernel ran for longer than the system permits where the device drives a display. Use smaller "
         "batches "
         "(@batch), or another device";
}

// Advice for a driver that does not start.
const char* remedy_of(Code code) {
  switch (code) {
    case CUDA_ERROR_NO_DEVICE:
      return "there is no NVIDIA GPU in this machine, or CUDA_VISIBLE_DEVICES hides it";
    case CUDA_ERROR_STUB_LIBRARY:
      return "the library found is the toolkit's stub; put the driver's own first in the linker's path";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "library and kernel module are of different versions; reboot after updating the driver";
    case CUDA_ERROR_SYSTEM_NOT_READY: return "start the services of the driver (nvidia-fabricmanager)";
    default: return "check with nvidia-smi that the driver runs, and that this user may open /dev/nvidia*";
  }
}

}  // namespace

bool is_refused(Code code) {
  return code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_OUT_OF_MEMORY ||
         code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

Result<std::shared_ptr<const Api>> Api::load(const std::string& library) {
  auto opened = Library::open({library});
  if (!opened.ok())
    return error(
        ErrorCode::kNotFound,
        "the NVIDIA driver is not installed: {}. Install it (Debian: nvidia-driver, libcuda1), or set "
        "DHPVM_CUDA_LIBRARY to where its libcuda.so.1 is",
        opened.error().message());
  const auto api = std::make_shared<Api>();
  api->library = std::move(opened).value();
#define X(member, entry, parameters)                                                \
  api->member = reinterpret_cast<Code(*) parameters>(api->library->symbol(#entry)); \
  if (api->member == nullptr)                                                       \
    return error(ErrorCode::kUnsupported,                                           \
                 "the NVIDIA driver has no function " #entry ": update the driver ({})", library);
  DHPVM_CUDA_FUNCTIONS(X)
#undef X
#define X(member, entry, parameters) \
  api->member = reinterpret_cast<Code(*) parameters>(api->library->symbol(#entry));
  DHPVM_CUDA_GRAPH_FUNCTIONS(X)
#undef X
  bool has_all = true;
#define X(member, entry, parameters) has_all = has_all && api->member != nullptr;
  DHPVM_CUDA_GRAPH_FUNCTIONS(X)
#undef X
  if (!has_all) api->GraphLaunch = nullptr;
  const Code code = api->Init(0);
  if (code != CUDA_SUCCESS)
    return error(code == CUDA_ERROR_NO_DEVICE ? ErrorCode::kNotFound : ErrorCode::kDeviceFailed,
                 "the NVIDIA driver does not start: cuInit failed with {}; {}", api->name_of(code),
                 remedy_of(code));
  return std::shared_ptr<const Api>(api);
}

std::string Api::name_of(Code code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (GetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown code";
  if (GetErrorString(code, &text) != CUDA_SUCCESS || text == nullptr)
    text = "the driver does not say what that means";
  return fmt::format("{} ({}): {}", name, static_cast<int>(code), text);
}

Error Api::error_of(Code code, std::string_view call) const {
  if (code == CUDA_ERROR_OUT_OF_MEMORY)
    return error(ErrorCode::kDeviceExhausted, "{} failed with {}", call, name_of(code));
  if (is_lost(code))
    return error(ErrorCode::kDeviceLost,
                 "{} failed with {}. The device cannot be used by this process any more{}", call,
                 name_of(code), remedy_of_loss(code));
  return error(ErrorCode::kDeviceFailed, "{} failed with {}", call, name_of(code));
}

}  // namespace dhpvm::offload::cu
