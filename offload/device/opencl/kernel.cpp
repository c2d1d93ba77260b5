// SPDX-License-Identifier: Apache-2.0
#include "offload/device/opencl/kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/error.h"
#include "offload/device/opencl/memory.h"

namespace dhpvm::offload {
namespace {

// A GPU is busy with this many groups for each compute unit, of about this size; more of them only add to what it costs
// to start. Kernels take several iterations per work-item where there are more.
constexpr std::size_t kGroupSize = 256;
constexpr std::uint32_t kGroupsPerUnit = 32;
// Runs of iterations for each thread of a processor, so that a thread that is held up leaves some to the others.
constexpr std::uint32_t kRunsPerUnit = 4;

}  // namespace

OpenClKernel::OpenClKernel(OpenClDevice& device, const KernelImage& image)
    : DriverKernel(device, image), device_(device) {}

OpenClKernel::~OpenClKernel() {
  const OpenClApi& api = device_.api();
  if (kernel_ != nullptr) api.ReleaseKernel(kernel_);
  if (program_ != nullptr) api.ReleaseProgram(program_);
}

Result<std::shared_ptr<Kernel>> OpenClKernel::load(OpenClDevice& device, const KernelImage& image) {
  if (image.format != KernelFormat::kOpenClC)
    return error(ErrorCode::kUnsupported, "{} takes kernels as OpenCL C; '{}' comes in another form",
                 device.info().name, image.name);
  std::shared_ptr<OpenClKernel> kernel(new OpenClKernel(device, image));
  DHPVM_TRY(kernel->build(image));
  DHPVM_TRY(kernel->choose_groups(image));
  return std::shared_ptr<Kernel>(kernel);
}

Status OpenClKernel::build(const KernelImage& image) {
  const OpenClApi& api = device_.api();
  cl_device_id const device = device_.candidate().device;
  const std::string& text = image.device_code.text;
  const char* source = text.data();
  const std::size_t length = text.size();
  cl_int code = CL_SUCCESS;
  program_ = api.CreateProgramWithSource(device_.context(), 1, &source, &length, &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateProgramWithSource");
  code = api.BuildProgram(program_, 1, &device, image.device_code.options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    std::size_t size = 0;
    api.GetProgramBuildInfo(program_, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    if (size != 0) api.GetProgramBuildInfo(program_, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    log.erase(std::min(log.find('\0'), log.size()));
    return error(ErrorCode::kCompile, "the driver of {} refuses kernel '{}' ({}):\n{}", device_.info().name,
                 image.name, opencl_error_name(code), log.empty() ? "it does not say why" : log);
  }
  kernel_ = api.CreateKernel(program_, image.device_code.entry.c_str(), &code);
  if (code != CL_SUCCESS)
    return error(ErrorCode::kCompile, "kernel '{}' has no entry '{}' ({})", image.name,
                 image.device_code.entry, opencl_error_name(code));
  return {};
}

Status OpenClKernel::choose_groups(const KernelImage& image) {
  const OpenClApi& api = device_.api();
  const OpenClCandidate& candidate = device_.candidate();
  const auto property = [&](cl_kernel_work_group_info name) {
    std::size_t value = 0;
    const cl_int code =
        api.GetKernelWorkGroupInfo(kernel_, candidate.device, name, sizeof(value), &value, nullptr);
    return code == CL_SUCCESS ? std::max<std::size_t>(value, 1) : std::size_t{1};
  };
  const std::size_t largest = property(CL_KERNEL_WORK_GROUP_SIZE);
  const std::uint32_t units = candidate.info.compute_units;
  if (group() != 0) {
    if (group() > largest)
      return error(ErrorCode::kUnsupported,
                   "kernel '{}' needs groups of {} work-items, device '{}' can run {}", image.name, group(),
                   candidate.info.name, largest);
    limits_ = {group(), units * kGroupsPerUnit};
  } else if (takes_runs()) {
    limits_ = {1, units * kRunsPerUnit};
  } else if (candidate.is_cpu) {
    // Items that step over each other's iterations share their cache lines: as few of them as keep all threads busy.
    limits_ = {1, units};
  } else {
    limits_ = {static_cast<std::uint32_t>(std::bit_floor(std::min(largest, kGroupSize))),
               units * kGroupsPerUnit};
  }
  return {};
}

cl_int OpenClKernel::set_arguments(const Operation& launch) {
  const OpenClApi& api = device_.api();
  cl_uint index = 0;
  for (const codegen::KernelParameter& parameter : parameters()) {
    cl_int code = CL_SUCCESS;
    if (const MemorySpan* const span = span_of(parameter, launch)) {
      const auto* const memory = static_cast<const OpenClMemory*>(span->memory.get());
      cl_mem const buffer = memory != nullptr ? memory->buffer() : nullptr;
      code = api.SetKernelArg(kernel_, index, sizeof(cl_mem), static_cast<const void*>(&buffer));
    } else {
      const std::uint64_t value = value_of(parameter, launch);
      code = api.SetKernelArg(kernel_, index, sizeof(value), &value);
    }
    if (code != CL_SUCCESS) return code;
    ++index;
  }
  return CL_SUCCESS;
}

cl_int OpenClKernel::enqueue(cl_command_queue queue, const Operation& launch, std::span<const cl_event> waits,
                             cl_event* event) {
  const LaunchGrid grid = grid_for(launch.space, limits_);
  std::array<std::size_t, 3> local = {};
  std::array<std::size_t, 3> global = {};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    local[axis] = grid.group[axis];
    global[axis] = local[axis] * grid.groups[axis];
  }
  const std::lock_guard lock(mutex_);
  if (const cl_int code = set_arguments(launch); code != CL_SUCCESS) return code;
  return device_.api().EnqueueNDRangeKernel(queue, kernel_, 3, nullptr, global.data(), local.data(),
                                            static_cast<cl_uint>(waits.size()),
                                            waits.empty() ? nullptr : waits.data(), event);
}

}  // namespace dhpvm::offload
