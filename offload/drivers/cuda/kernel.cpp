// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/module.h"
#include "codegen/group_work.h"
#include "offload/drivers/cuda/memory.h"

namespace dhpvm::offload {
namespace {

// Large enough to hide latencies, and small enough that threads that end early wait for few others.
constexpr int kBlockSize = 256;
// Waves of blocks: with several, short blocks overlap with long ones, and blocks that run together work on rows that
// are close together (docs/decisions/0094); but starting blocks costs time.
constexpr unsigned kWaves = 64;
// Smaller blocks do not fill a warp, and cannot do a block of a reduction.
constexpr std::uint32_t kSmallestBlock = 32;
static_assert(kSmallestBlock == bytecode::kReductionLanes);
constexpr std::size_t kLogSize = std::size_t{16} << 10;

const char* remedy_of(cu::Code code) {
  switch (code) {
    case cu::CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "the driver is too old for this code: update it to 520 (CUDA 11.8) or newer";
    case cu::CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
      return "the driver's compiler is missing: install its libnvidia-ptxjitcompiler.so.1 (Debian: "
             "libnvidia-ptxjitcompiler1)";
    case cu::CUDA_ERROR_JIT_COMPILATION_DISABLED:
      return "compiling is switched off: unset CUDA_DISABLE_JIT and CUDA_DISABLE_PTX_JIT";
    default: return "it does not say why";
  }
}

}  // namespace

CudaKernel::~CudaKernel() {
  const CudaCurrent current(device_);
  if (module_ != nullptr) device_.api().ModuleUnload(module_);
}

Result<std::shared_ptr<Kernel>> CudaKernel::load(CudaDevice& device, const KernelImage& image) {
  DHPVM_TRY(device.check_language(image));
  std::shared_ptr<CudaKernel> kernel(new CudaKernel(device, image));
  const CudaCurrent current(device);
  DHPVM_TRY(kernel->assemble(image));
  DHPVM_TRY(kernel->check_local_memory(image));
  DHPVM_TRY(kernel->choose_blocks(image));
  return std::shared_ptr<Kernel>(kernel);
}

Status CudaKernel::assemble(const KernelImage& image) {
  const cu::Api& api = device_.api();
  std::string log(kLogSize, '\0');
  // The driver reads the value of some options from the pointer itself.
  std::array<cu::JitOption, 2> options = {cu::JIT_ERROR_LOG_BUFFER, cu::JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(static_cast<std::uintptr_t>(kLogSize))};
  cu::Code code = api.ModuleLoadDataEx(&module_, image.device_code.text.c_str(), options.size(),
                                       options.data(), values.data());
  if (code != cu::CUDA_SUCCESS) {
    Error failed = api.error_of(code, "cuModuleLoadDataEx");
    if (failed.code() != ErrorCode::kDeviceFailed) return failed;
    log.erase(std::min(log.find('\0'), log.size()));
    return error(ErrorCode::kCompile, "the driver of device '{}' refuses kernel '{}' ({}):\n{}",
                 device_.info().name, image.name, api.name_of(code), log.empty() ? remedy_of(code) : log);
  }
  code = api.ModuleGetFunction(&function_, module_, image.device_code.entry.c_str());
  if (code != cu::CUDA_SUCCESS) {
    Error failed = api.error_of(code, "cuModuleGetFunction");
    if (failed.code() != ErrorCode::kDeviceFailed) return failed;
    return error(ErrorCode::kCompile, "kernel '{}' has no entry '{}' ({})", image.name,
                 image.device_code.entry, api.name_of(code));
  }
  return {};
}

// The driver reserves local memory for every thread that the device can run at once, however few are launched.
Status CudaKernel::check_local_memory(const KernelImage& image) {
  const cu::Api& api = device_.api();
  int bytes = 0;
  int threads = 0;
  cu::Code code = api.FuncGetAttribute(&bytes, cu::LOCAL_SIZE_BYTES, function_);
  if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuFuncGetAttribute");
  code = api.DeviceGetAttribute(&threads, cu::MAX_THREADS_PER_MULTIPROCESSOR, device_.ordinal());
  if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuDeviceGetAttribute");
  const std::uint64_t all = std::uint64_t{device_.info().compute_units} * static_cast<unsigned>(threads) *
                            static_cast<unsigned>(bytes);
  if (all <= device_.info().memory_bytes / 2) return {};
  return error(
      ErrorCode::kUnsupported,
      "kernel '{}' needs {} of local memory for each thread, {} for all that device '{}' runs at once: more "
      "than half of its memory",
      image.name, bytes_text(static_cast<std::uint64_t>(bytes)), bytes_text(all), device_.info().name);
}

Status CudaKernel::choose_blocks(const KernelImage& image) {
  const cu::Api& api = device_.api();
  int largest = 0;
  cu::Code code = api.FuncGetAttribute(&largest, cu::MAX_THREADS_PER_BLOCK, function_);
  if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuFuncGetAttribute");
  int size = std::min(static_cast<int>(group()), largest);
  if (size != 0 && size < static_cast<int>(kSmallestBlock))
    return error(ErrorCode::kUnsupported,
                 "kernel '{}' needs blocks of {} threads, device '{}' can run {} of it", image.name,
                 kSmallestBlock, device_.info().name, largest);
  if (size == 0) {
    int grid = 0;
    code = api.OccupancyMaxPotentialBlockSize(&grid, &size, function_, nullptr, 0, kBlockSize);
    // The driver's block size need not be a power of two.
    size = static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(size, 1))));
    if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuOccupancyMaxPotentialBlockSize");
  }
  int resident = 0;
  code = api.OccupancyMaxActiveBlocksPerMultiprocessor(&resident, function_, size, 0);
  if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  limits_.group = static_cast<std::uint32_t>(std::max(size, 1));
  limits_.groups = static_cast<std::uint32_t>(std::max(resident, 1)) * device_.info().compute_units * kWaves;
  limits_.processors = device_.info().compute_units;
  limits_.squares = has_squares() && largest >= static_cast<int>(codegen::kSquareItems);
  return {};
}

namespace {

// An array is passed as the address of its element 0, which need not exist.
std::uint64_t address_of(const ArrayArgument& array) {
  return static_cast<const CudaMemory&>(*array.memory.memory).address() + array.memory.offset +
         static_cast<std::uint64_t>(array.first);
}

}  // namespace

Status CudaKernel::check(const Operation& launch) const {
  for (const codegen::KernelParameter& parameter : parameters()) {
    if (parameter.kind != codegen::ParameterKind::kData) continue;
    const ArrayArgument& array = launch.arrays[parameter.index];
    if (array.memory.memory != nullptr && address_of(array) % codegen::kDataAlignment != 0)
      return error(ErrorCode::kInvalidArgument,
                   "element 0 of captured array {} would lie at an address that is no multiple of {} bytes",
                   parameter.index, codegen::kDataAlignment);
  }
  return {};
}

// The driver copies the arguments before it returns. All parameters have 64 bits.
CudaKernel::Arguments::Arguments(const CudaKernel& kernel, const Operation& launch) {
  values.reserve(kernel.parameters().size());
  for (const codegen::KernelParameter& parameter : kernel.parameters()) {
    const MemorySpan* const span = span_of(parameter, launch);
    if (span == nullptr) {
      values.push_back(value_of(parameter, launch));
    } else if (span->memory == nullptr) {
      values.push_back(0);
    } else {
      values.push_back(parameter.kind == codegen::ParameterKind::kData
                           ? address_of(launch.arrays[parameter.index])
                           : static_cast<const CudaMemory&>(*span->memory).address() + span->offset);
    }
  }
  pointers.reserve(values.size());
  for (std::uint64_t& value : values) pointers.push_back(&value);
}

cu::Code CudaKernel::enqueue(cu::Stream stream, const Operation& launch) const {
  Arguments arguments(*this, launch);
  // Smaller blocks need fewer resources at a time, and every thread does more.
  for (GridLimits limits = limits_;;) {
    const LaunchGrid grid = grid_for(launch.space, limits);
    const cu::Code code = device_.api().LaunchKernel(
        function_, grid.groups[0], grid.groups[1], grid.groups[2], grid.group[0], grid.group[1],
        grid.group[2], 0, stream, arguments.pointers.data(), nullptr);
    if (!cu::is_refused(code) || (!limits.squares && limits.group <= kSmallestBlock)) return code;
    if (!std::exchange(limits.squares, false)) limits.group /= 2;
  }
}

cu::KernelNodeParams CudaKernel::node(const Operation& launch, Arguments& arguments) const {
  const LaunchGrid grid = grid_for(launch.space, limits_);
  cu::KernelNodeParams params;
  params.function = function_;
  params.grid_x = grid.groups[0];
  params.grid_y = grid.groups[1];
  params.grid_z = grid.groups[2];
  params.block_x = grid.group[0];
  params.block_y = grid.group[1];
  params.block_z = grid.group[2];
  params.parameters = arguments.pointers.data();
  return params;
}

}  // namespace dhpvm::offload
