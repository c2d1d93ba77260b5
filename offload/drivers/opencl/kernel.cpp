// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/error.h"
#include "bytecode/module.h"
#include "offload/drivers/opencl/memory.h"

namespace dhpvm::offload {
namespace {

using codegen::Dealing;

// So many groups for each compute unit, of about this size, keep a GPU busy; more only make launches slower. With more
// iterations, work-items do several each.
constexpr std::size_t kGroupSize = 256;
constexpr std::uint32_t kGroupsPerUnit = 32;
// On a processor, one call executes a group, in vectors: a group is large enough that the call costs next to nothing.
constexpr std::size_t kGroupOnProcessor = 512;
// Runs or groups for each thread of a processor, so that other threads can take over work from a straggler.
constexpr std::uint32_t kSharesPerUnit = 4;

// Whether two arrays of a launch overlap in memory.
bool have_overlap(std::span<const ArrayArgument> arrays) {
  for (std::size_t m = 0; m < arrays.size(); ++m) {
    for (std::size_t n = 0; n < m; ++n) {
      const MemorySpan& a = arrays[m].memory;
      const MemorySpan& b = arrays[n].memory;
      if (a.memory == b.memory && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes) return true;
    }
  }
  return false;
}

}  // namespace

OpenClKernel::OpenClKernel(OpenClDevice& device, const KernelImage& image)
    : DriverKernel(device, image),
      device_(device),
      text_(image.device_code.text),
      entry_(image.device_code.entry),
      options_(image.device_code.options) {}

OpenClKernel::~OpenClKernel() {
  const OpenClApi& api = device_.api();
  for (const Build* const build : {&distinct_, &overlapping_}) {
    if (build->kernel != nullptr) api.ReleaseKernel(build->kernel);
    if (build->program != nullptr) api.ReleaseProgram(build->program);
  }
}

Result<std::shared_ptr<Kernel>> OpenClKernel::load(OpenClDevice& device, const KernelImage& image) {
  DHPVM_TRY(device.check_language(image));
  std::shared_ptr<OpenClKernel> kernel(new OpenClKernel(device, image));
  DHPVM_TRY(kernel->build(kernel->distinct_, kernel->options_));
  DHPVM_TRY(kernel->choose_groups());
  return std::shared_ptr<Kernel>(kernel);
}

Status OpenClKernel::build(Build& build, const std::string& options) {
  const OpenClApi& api = device_.api();
  cl_device_id const device = device_.candidate().device;
  const char* source = text_.data();
  const std::size_t length = text_.size();
  cl_int code = CL_SUCCESS;
  build.program = api.CreateProgramWithSource(device_.context(), 1, &source, &length, &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateProgramWithSource");
  code = api.BuildProgram(build.program, 1, &device, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    std::size_t size = 0;
    api.GetProgramBuildInfo(build.program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    if (size != 0)
      api.GetProgramBuildInfo(build.program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    log.erase(std::min(log.find('\0'), log.size()));
    return error(ErrorCode::kCompile, "the driver of {} refuses kernel '{}' ({}):\n{}", device_.info().name,
                 shape().name, opencl_error_name(code), log.empty() ? "it does not say why" : log);
  }
  build.kernel = api.CreateKernel(build.program, entry_.c_str(), &code);
  if (code != CL_SUCCESS)
    return error(ErrorCode::kCompile, "kernel '{}' has no entry '{}' ({})", shape().name, entry_,
                 opencl_error_name(code));
  return {};
}

Status OpenClKernel::choose_groups() {
  const OpenClApi& api = device_.api();
  const OpenClCandidate& candidate = device_.candidate();
  const auto property = [&](cl_kernel_work_group_info name) {
    std::size_t value = 0;
    const cl_int code =
        api.GetKernelWorkGroupInfo(distinct_.kernel, candidate.device, name, sizeof(value), &value, nullptr);
    return code == CL_SUCCESS ? std::max<std::size_t>(value, 1) : std::size_t{1};
  };
  const std::size_t largest = property(CL_KERNEL_WORK_GROUP_SIZE);
  const std::uint32_t units = candidate.info.compute_units;
  if (group() != 0) {
    if (bytecode::kReductionLanes > largest)
      return error(ErrorCode::kUnsupported,
                   "kernel '{}' needs groups of {} work-items, device '{}' can run {}", shape().name,
                   bytecode::kReductionLanes, candidate.info.name, largest);
    limits_ = {static_cast<std::uint32_t>(std::min<std::size_t>(group(), largest)), units * kGroupsPerUnit,
               units};
    return {};
  }
  const auto group_up_to = [&](std::size_t size) {
    return static_cast<std::uint32_t>(std::bit_floor(std::min(largest, size)));
  };
  switch (dealing()) {
    case Dealing::kRuns: limits_ = {1, units * kSharesPerUnit}; break;
    case Dealing::kSingly: limits_ = {group_up_to(kGroupOnProcessor), units * kSharesPerUnit}; break;
    case Dealing::kShared:
    case Dealing::kStrides: limits_ = {group_up_to(kGroupSize), units * kGroupsPerUnit, units}; break;
  }
  return {};
}

cl_int OpenClKernel::set_arguments(cl_kernel kernel, const Operation& launch) {
  const OpenClApi& api = device_.api();
  cl_uint index = 0;
  for (const codegen::KernelParameter& parameter : parameters()) {
    cl_int code = CL_SUCCESS;
    if (const MemorySpan* const span = span_of(parameter, launch)) {
      const auto* const memory = static_cast<const OpenClMemory*>(span->memory.get());
      cl_mem const buffer = memory != nullptr ? memory->buffer() : nullptr;
      code = api.SetKernelArg(kernel, index, sizeof(cl_mem), static_cast<const void*>(&buffer));
    } else {
      const std::uint64_t value = value_of(parameter, launch);
      code = api.SetKernelArg(kernel, index, sizeof(value), &value);
    }
    if (code != CL_SUCCESS) return code;
    ++index;
  }
  return CL_SUCCESS;
}

std::vector<LaunchPiece> OpenClKernel::pieces_of(const IterationSpace& space) {
  if (dealing() == Dealing::kSingly) return planner_.plan(space, limits_);
  const LaunchGrid grid = grid_for(space, limits_);
  LaunchPiece whole = {.group = grid.group};
  for (unsigned axis = 0; axis < 3; ++axis) {
    whole.items[axis] = std::uint64_t{grid.group[axis]} * grid.groups[axis];
  }
  return {whole};
}

cl_int OpenClKernel::enqueue(cl_command_queue queue, const Operation& launch, std::span<const cl_event> waits,
                             cl_event* event, cl_event* begin) {
  const OpenClApi& api = device_.api();
  const std::lock_guard lock(mutex_);
  const std::vector<LaunchPiece> pieces = pieces_of(launch.space);
  const bool overlap = have_overlap(launch.arrays);
  if (overlap && overlapping_.kernel == nullptr && !build(overlapping_, options_ + codegen::kMayOverlap).ok())
    return CL_BUILD_PROGRAM_FAILURE;
  cl_kernel const kernel = overlap ? overlapping_.kernel : distinct_.kernel;
  if (const cl_int code = set_arguments(kernel, launch); code != CL_SUCCESS) return code;
  for (const LaunchPiece& piece : pieces) {
    const auto sizes = [](const auto& numbers) {
      return std::array<std::size_t, 3>{numbers[0], numbers[1], numbers[2]};
    };
    const bool is_first = &piece == &pieces.front();
    const bool is_last = &piece == &pieces.back();
    // The queue keeps their order: only the first one waits, and when the last one has ended, all have.
    const std::span<const cl_event> before = is_first ? waits : std::span<const cl_event>();
    cl_event* const its_event = is_last ? event : is_first ? begin : nullptr;
    const cl_int code = api.EnqueueNDRangeKernel(
        queue, kernel, 3, sizes(piece.first).data(), sizes(piece.items).data(), sizes(piece.group).data(),
        static_cast<cl_uint>(before.size()), before.empty() ? nullptr : before.data(), its_event);
    if (code == CL_SUCCESS) continue;
    // The failure counts as one of a launch that has not begun, so wait for the commands that have.
    if (!is_first) api.Finish(queue);
    return code;
  }
  return CL_SUCCESS;
}

}  // namespace dhpvm::offload
