// SPDX-License-Identifier: Apache-2.0
#include "offload/device/opencl/kernel.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "offload/device/opencl/memory.h"

namespace dhpvm::offload {
namespace {

// A GPU is busy with this many groups for each compute unit, of about this size; more of them only add to what it costs
// to start. Kernels take several iterations per work-item where there are more.
constexpr std::size_t kGpuGroupSize = 256;
constexpr std::size_t kGpuGroupsPerUnit = 32;
// A processor works off one group per thread at a time, item by item: a few each, so that threads that are held up
// leave some to the others.
constexpr std::size_t kCpuGroupSize = 64;
constexpr std::size_t kCpuGroupsPerUnit = 4;

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
  // Results are to be the same everywhere: nothing is relaxed, and f32 division is exact where that takes a word.
  std::string options = "-cl-std=CL1.2";
  if (device_.candidate().rounds_correctly) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  code = api.BuildProgram(program_, 1, &device, options.c_str(), nullptr, nullptr);
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

// Once and for all launches: some drivers compile a kernel again for every size of group.
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
  const std::size_t multiple = property(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
  if (group() != 0) {
    group_size_ = group();
    if (group_size_ > largest)
      return error(ErrorCode::kUnsupported, "kernel '{}' needs groups of {} work-items, {} can run {}",
                   image.name, group_size_, candidate.info.name, largest);
  } else {
    group_size_ = std::min(largest, candidate.is_cpu ? kCpuGroupSize : kGpuGroupSize);
    if (group_size_ > multiple) group_size_ -= group_size_ % multiple;
  }
  most_groups_ = candidate.info.compute_units * (candidate.is_cpu ? kCpuGroupsPerUnit : kGpuGroupsPerUnit);
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
      code = api.SetKernelArg(kernel_, index, sizeof(buffer), &buffer);
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
  const std::size_t items = groups_for(launch.space, group_size_, most_groups_) * group_size_;
  const std::lock_guard lock(mutex_);
  if (const cl_int code = set_arguments(launch); code != CL_SUCCESS) return code;
  return device_.api().EnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &items, &group_size_,
                                            static_cast<cl_uint>(waits.size()),
                                            waits.empty() ? nullptr : waits.data(), event);
}

}  // namespace dhpvm::offload
