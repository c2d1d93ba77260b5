// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/platform.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The ICD loader's code for "no platforms", from an extension's header.
constexpr cl_int kNoPlatforms = -1001;
// The property for NVIDIA's number of copy engines, from an extension's header.
constexpr cl_device_info kNvidiaCopyEngines = 0x4007;

// The value of a property; T{} if the device does not report it.
template <typename T>
T property(const OpenClApi& api, cl_device_id device, cl_device_info name) {
  T value{};
  return api.GetDeviceInfo(device, name, sizeof(value), &value, nullptr) == CL_SUCCESS ? value : T{};
}

template <typename Call>
std::string read_text(Call&& call) {
  std::size_t size = 0;
  if (call(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (call(size, text.data(), nullptr) != CL_SUCCESS) return {};
  // Cut at the terminating zero; some names are padded with blanks.
  text.erase(std::min(text.find('\0'), text.size()));
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::string text_of(const OpenClApi& api, cl_device_id device, cl_device_info name) {
  return read_text([&](std::size_t size, void* value, std::size_t* needed) {
    return api.GetDeviceInfo(device, name, size, value, needed);
  });
}

std::string text_of(const OpenClApi& api, cl_platform_id platform, cl_platform_info name) {
  return read_text([&](std::size_t size, void* value, std::size_t* needed) {
    return api.GetPlatformInfo(platform, name, size, value, needed);
  });
}

bool has_extension(const std::string& extensions, const std::string& name) {
  return (" " + extensions + " ").find(" " + name + " ") != std::string::npos;
}

// "OpenCL 1.2 whatever" gives 102; 0 for other texts.
int version_of(const std::string& text) {
  int major = 0;
  int minor = 0;
  return std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

std::optional<Error> find_problem(const OpenClApi& api, cl_device_id device, const std::string& version) {
  const auto unsupported = [](std::string why) { return Error(ErrorCode::kUnsupported, std::move(why)); };
  if (property<cl_bool>(api, device, CL_DEVICE_AVAILABLE) == CL_FALSE)
    return Error(ErrorCode::kDeviceFailed,
                 "the driver says that the device is not available; is another program using "
                 "it exclusively, or is the user not in the group of the device's file?");
  if (version_of(version) < 102)
    return unsupported(
        fmt::format("OpenCL 1.2 is needed, the device has '{}'; install a newer driver", version));
  if (property<cl_bool>(api, device, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE)
    return unsupported("its driver has no compiler for OpenCL C; install the full driver of its vendor");
  if (property<cl_uint>(api, device, CL_DEVICE_ADDRESS_BITS) != 64)
    return unsupported("it has 32-bit addresses; arrays here may be larger than that");
  if (property<cl_bool>(api, device, CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE)
    return unsupported("it is big-endian, and shares no data format with this machine");
  return std::nullopt;
}

OpenClCandidate describe(const OpenClApi& api, cl_platform_id platform, cl_device_id device,
                         std::size_t index) {
  OpenClCandidate found;
  found.platform = platform;
  found.device = device;
  const std::string version = text_of(api, device, CL_DEVICE_VERSION);
  const std::string extensions = text_of(api, device, CL_DEVICE_EXTENSIONS);
  const auto type = property<cl_device_type>(api, device, CL_DEVICE_TYPE);
  found.is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  found.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  found.host_unified_memory = property<cl_bool>(api, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  found.problem = find_problem(api, device, version);

  DeviceInfo& info = found.info;
  info.name = fmt::format("opencl:{}", index);
  info.description = fmt::format("{} ({}, {})", text_of(api, device, CL_DEVICE_NAME),
                                 text_of(api, platform, CL_PLATFORM_NAME),
                                 version.substr(0, version.find(' ', sizeof("OpenCL"))));
  if (found.is_cpu) info.description += "; the cores of `host` in a slower form, used only if named";
  info.format = KernelFormat::kDeviceCode;
  info.target.language = "opencl";
  info.target.has_f64 = property<cl_device_fp_config>(api, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  info.target.has_atomics_64 = has_extension(extensions, "cl_khr_int64_base_atomics") &&
                               has_extension(extensions, "cl_khr_int64_extended_atomics");
  constexpr cl_device_fp_config kExact = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT | CL_FP_DENORM;
  info.target.has_exact_f32 =
      (property<cl_device_fp_config>(api, device, CL_DEVICE_SINGLE_FP_CONFIG) & kExact) == kExact;
  info.target.is_processor = found.is_cpu;
  info.memory_bytes = property<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.largest_allocation = property<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.compute_units = std::max(property<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS), cl_uint{1});
  // OpenCL does not report how many copies overlap with kernels; one does on every discrete device of the last decade.
  info.copy_engines = found.is_cpu ? 0 : 1;
  if (has_extension(extensions, "cl_nv_device_attribute_query"))
    info.copy_engines = std::min(property<cl_uint>(api, device, kNvidiaCopyEngines), cl_uint{2});
  return found;
}

}  // namespace

Result<std::vector<OpenClCandidate>> find_opencl_devices(const OpenClApi& api) {
  cl_uint count = 0;
  cl_int code = api.GetPlatformIDs(0, nullptr, &count);
  if (code == kNoPlatforms || (code == CL_SUCCESS && count == 0))
    return error(
        ErrorCode::kNotFound,
        "OpenCL's loader is installed, but no driver; install the one of the device's vendor (for the "
        "processor: pocl-opencl-icd)");
  if (code != CL_SUCCESS) return opencl_error(code, "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  code = api.GetPlatformIDs(count, platforms.data(), nullptr);
  if (code != CL_SUCCESS) return opencl_error(code, "clGetPlatformIDs");

  std::vector<OpenClCandidate> candidates;
  for (const cl_platform_id platform : platforms) {
    code = api.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) continue;
    std::vector<cl_device_id> devices(code == CL_SUCCESS ? count : 0);
    if (code == CL_SUCCESS)
      code = api.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    if (code != CL_SUCCESS) {
      // One broken driver must not hide the others, and is listed with its problem.
      OpenClCandidate broken;
      broken.platform = platform;
      broken.info.name = fmt::format("opencl:{}", candidates.size());
      broken.info.description = text_of(api, platform, CL_PLATFORM_NAME);
      broken.problem = opencl_error(code, "clGetDeviceIDs");
      candidates.push_back(std::move(broken));
      continue;
    }
    for (const cl_device_id device : devices)
      candidates.push_back(describe(api, platform, device, candidates.size()));
  }
  return candidates;
}

}  // namespace dhpvm::offload
