// SPDX-License-Identifier: Apache-2.0
// A driver for NVIDIA GPUs that do not exist: a shared library in place of libcuda.so.1. It does the device's work on
// the host, and is stricter than the real one: it requires a current context, detects addresses outside the device's
// memory, and forbids calls from host functions. Kernels are run by the interpreter of PTX, or by a function of the
// test.
#include <cstring>
#include <new>
#include <utility>

#include "offload/drivers/cuda/fake/fake_call.h"

namespace dhpvm::offload::cu::fake {
namespace {

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace
}  // namespace dhpvm::offload::cu::fake

using namespace dhpvm::offload::cu;        // NOLINT: it defines what these declare
using namespace dhpvm::offload::cu::fake;  // NOLINT

FAKE Code cuGetErrorName(Code code, const char** name) {
  switch (code) {
#define X(text, number) \
  case CUDA_##text: *name = "CUDA_" #text; return CUDA_SUCCESS;
    DHPVM_CUDA_CODES(X)
#undef X
  }
  return CUDA_ERROR_INVALID_VALUE;
}

FAKE Code cuGetErrorString(Code code, const char** text) {
  const char* name = nullptr;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  // Lives until the thread's next call.
  thread_local std::string fault;
  fault = all.fault;
  *text = fault.empty() ? "as the test wanted" : fault.c_str();
  return cuGetErrorName(code, &name);
}

FAKE Code cuInit(unsigned flags) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (flags != 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  all.initialised = all.config.init_code == 0;
  return static_cast<Code>(all.config.init_code);
}

FAKE Code cuDriverGetVersion(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

FAKE Code cuDeviceGetCount(int* count) {
  FAKE_CALL(cuDeviceGetCount, false);
  *count = all.config.devices;
  return CUDA_SUCCESS;
}

FAKE Code cuDeviceGet(Ordinal* device, int index) {
  FAKE_CALL(cuDeviceGet, false);
  if (index < 0 || index >= all.config.devices) return misuse(CUDA_ERROR_INVALID_DEVICE);
  *device = index;
  return CUDA_SUCCESS;
}

FAKE Code cuDeviceGetName(char* name, int size, Ordinal /*device*/) {
  FAKE_CALL(cuDeviceGetName, false);
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size) - 1);
  return CUDA_SUCCESS;
}

FAKE Code cuDeviceTotalMem_v2(std::size_t* bytes, Ordinal /*device*/) {
  FAKE_CALL(cuDeviceTotalMem_v2, false);
  *bytes = all.config.memory_bytes;
  return CUDA_SUCCESS;
}

FAKE Code cuDeviceGetAttribute(int* value, Attribute attribute, Ordinal /*device*/) {
  FAKE_CALL(cuDeviceGetAttribute, false);
  switch (attribute) {
    case MULTIPROCESSOR_COUNT: *value = 4; return CUDA_SUCCESS;
    case KERNEL_EXEC_TIMEOUT: *value = all.config.exec_timeout; return CUDA_SUCCESS;
    case MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; return CUDA_SUCCESS;
    case COMPUTE_MODE: *value = all.config.compute_mode; return CUDA_SUCCESS;
    case ASYNC_ENGINE_COUNT: *value = 3; return CUDA_SUCCESS;
    case UNIFIED_ADDRESSING: *value = 1; return CUDA_SUCCESS;
    case COMPUTE_CAPABILITY_MAJOR: *value = all.config.capability_major; return CUDA_SUCCESS;
    case COMPUTE_CAPABILITY_MINOR: *value = all.config.capability_minor; return CUDA_SUCCESS;
  }
  return misuse(CUDA_ERROR_INVALID_VALUE);
}

FAKE Code cuDevicePrimaryCtxRetain(Context* context, Ordinal device) {
  FAKE_CALL(cuDevicePrimaryCtxRetain, false);
  std::unique_ptr<CUctx_st>& found = all.contexts[device];
  if (found == nullptr) found = std::make_unique<CUctx_st>(CUctx_st{device, 0, CUDA_SUCCESS});
  ++found->retained;
  ++all.counts.contexts;
  *context = found.get();
  return CUDA_SUCCESS;
}

FAKE Code cuDevicePrimaryCtxRelease_v2(Ordinal device) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const Code answer = begin_call("cuDevicePrimaryCtxRelease_v2", false);
  const auto found = all.contexts.find(device);
  if (is_void(answer) || found == all.contexts.end()) return misuse(CUDA_ERROR_INVALID_CONTEXT);
  --all.counts.contexts;
  if (--found->second->retained == 0) all.contexts.erase(found);
  return answer;
}

FAKE Code cuCtxPushCurrent_v2(Context context) {
  FAKE_CALL(cuCtxPushCurrent_v2, false);
  current().push_back(context);
  return CUDA_SUCCESS;
}

FAKE Code cuCtxPopCurrent_v2(Context* context) {
  FAKE_CALL(cuCtxPopCurrent_v2, false);
  if (current().empty()) return misuse(CUDA_ERROR_INVALID_CONTEXT);
  *context = current().back();
  current().pop_back();
  return CUDA_SUCCESS;
}

FAKE Code cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  FAKE_CALL(cuMemGetInfo_v2, true);
  *free = all.config.memory_bytes - all.allocated;
  *total = all.config.memory_bytes;
  return CUDA_SUCCESS;
}

FAKE Code cuMemAlloc_v2(Address* address, std::size_t bytes) {
  FAKE_CALL(cuMemAlloc_v2, true);
  if (bytes == 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  if (bytes > all.config.memory_bytes - all.allocated) return CUDA_ERROR_OUT_OF_MEMORY;
  std::shared_ptr<dhpvm::ptx::Allocation> memory = dhpvm::ptx::Allocation::create(bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = memory->address();
  all.allocations[*address] = std::move(memory);
  all.allocated += bytes;
  ++all.counts.allocations;
  ++all.counts.allocations_made;
  return CUDA_SUCCESS;
}

FAKE Code cuMemFree_v2(Address address) {
  FAKE_RELEASE(cuMemFree_v2);
  const auto found = all.allocations.find(address);
  if (found == all.allocations.end()) return misuse(CUDA_ERROR_INVALID_VALUE);
  all.allocated -= found->second->size();
  all.allocations.erase(found);
  --all.counts.allocations;
  return answer;
}

FAKE Code cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  FAKE_CALL(cuMemHostAlloc, true);
  if (bytes == 0 || flags != kHostAllocPortable) return misuse(CUDA_ERROR_INVALID_VALUE);
  *memory = ::operator new(bytes, std::align_val_t(4096), std::nothrow);
  if (*memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  all.registrations[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
  ++all.counts.registrations;
  return CUDA_SUCCESS;
}

FAKE Code cuMemFreeHost(void* memory) {
  FAKE_RELEASE(cuMemFreeHost);
  if (all.registrations.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0)
    return misuse(CUDA_ERROR_INVALID_VALUE);
  --all.counts.registrations;
  ::operator delete(memory, std::align_val_t(4096));
  return answer;
}

FAKE Code cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  FAKE_CALL(cuMemHostRegister_v2, true);
  if (bytes == 0 || flags != kHostRegisterPortable) return misuse(CUDA_ERROR_INVALID_VALUE);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (const auto& [other, size] : all.registrations) {
    if (begin < other + size && other < begin + bytes) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  all.registrations[begin] = bytes;
  ++all.counts.registrations;
  return CUDA_SUCCESS;
}

FAKE Code cuMemHostUnregister(void* memory) {
  FAKE_RELEASE(cuMemHostUnregister);
  if (all.registrations.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0)
    return misuse(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  --all.counts.registrations;
  return answer;
}

FAKE Code cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream stream) {
  FAKE_CALL(cuMemcpyHtoDAsync_v2, true);
  // The real driver accepts unregistered host memory, but copies it at once, whatever the operation waits for.
  const auto target = allocation_of(to, bytes);
  if (target == nullptr || !is_registered(from, bytes)) return misuse(CUDA_ERROR_INVALID_VALUE);
  push(*stream, [=] {
    std::memcpy(pointer(to), from, bytes);
    target->mark_written(to - target->address(), bytes);
  });
  return CUDA_SUCCESS;
}

FAKE Code cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream stream) {
  FAKE_CALL(cuMemcpyDtoHAsync_v2, true);
  if (allocation_of(from, bytes) == nullptr || !is_registered(to, bytes))
    return misuse(CUDA_ERROR_INVALID_VALUE);
  push(*stream, [=] { std::memcpy(to, pointer(from), bytes); });
  return CUDA_SUCCESS;
}

FAKE Code cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream stream) {
  FAKE_CALL(cuMemcpyDtoDAsync_v2, true);
  const auto target = allocation_of(to, bytes);
  const auto source = allocation_of(from, bytes);
  if (target == nullptr || source == nullptr) return misuse(CUDA_ERROR_INVALID_VALUE);
  push(*stream, [=] {
    std::memcpy(pointer(to), pointer(from), bytes);
    target->copy_marks(to - target->address(), *source, from - source->address(), bytes);
  });
  return CUDA_SUCCESS;
}

FAKE Code cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, Stream stream) {
  FAKE_CALL(cuMemsetD8Async, true);
  const auto target = allocation_of(to, bytes);
  if (target == nullptr) return misuse(CUDA_ERROR_INVALID_VALUE);
  push(*stream, [=] {
    std::memset(pointer(to), value, bytes);
    target->mark_written(to - target->address(), bytes);
  });
  return CUDA_SUCCESS;
}

FAKE Code cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options,
                             void** values) {
  FAKE_CALL(cuModuleLoadDataEx, true);
  auto program = dhpvm::ptx::assemble(static_cast<const char*>(image));
  if (!program.ok()) {
    char* log = nullptr;
    std::size_t size = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
      if (options[i] == JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<std::size_t>(values[i]);
    }
    if (log != nullptr && size != 0) std::strncpy(log, program.error().message().c_str(), size - 1);
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = new CUmod_st{std::move(program).value(), {}};
  ++all.counts.modules;
  return CUDA_SUCCESS;
}

FAKE Code cuModuleGetFunction(Function* function, Module module, const char* name) {
  FAKE_CALL(cuModuleGetFunction, true);
  const dhpvm::ptx::Function* const entry = module->program->find_entry(name);
  if (entry == nullptr) return CUDA_ERROR_NOT_FOUND;
  module->functions.push_back(std::make_unique<CUfunc_st>(CUfunc_st{module->program, entry}));
  *function = module->functions.back().get();
  all.functions.insert(*function);
  return CUDA_SUCCESS;
}

FAKE Code cuModuleUnload(Module module) {
  FAKE_RELEASE(cuModuleUnload);
  --all.counts.modules;
  for (const std::unique_ptr<CUfunc_st>& function : module->functions) all.functions.erase(function.get());
  delete module;
  return answer;
}

FAKE Code cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
  FAKE_CALL(cuFuncGetAttribute, true);
  if (attribute != MAX_THREADS_PER_BLOCK && attribute != LOCAL_SIZE_BYTES)
    return misuse(CUDA_ERROR_INVALID_VALUE);
  *value = attribute == MAX_THREADS_PER_BLOCK ? all.config.threads_of_block
                                              : static_cast<int>(function->entry->local_bytes);
  return CUDA_SUCCESS;
}

FAKE Code cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function /*function*/,
                                           SharedMemoryOfBlock /*shared_of_block*/, std::size_t /*shared*/,
                                           int most) {
  FAKE_CALL(cuOccupancyMaxPotentialBlockSize, true);
  *block = most == 0 ? 1024 : most;
  *grid = 16;
  return CUDA_SUCCESS;
}

FAKE Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function /*function*/, int /*block*/,
                                                      std::size_t /*shared*/) {
  FAKE_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, true);
  *blocks = 2;
  return CUDA_SUCCESS;
}

FAKE Code cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, Stream stream,
                         void** parameters, void** extra) {
  FAKE_CALL(cuLaunchKernel, true);
  const KernelNodeParams params = {function, grid_x,  grid_y, grid_z,     block_x,
                                   block_y,  block_z, shared, parameters, extra};
  if (!is_loaded(function) || !is_possible(*function, params)) return misuse(CUDA_ERROR_INVALID_VALUE);
  ++all.counts.launches;
  push(*stream, [=, function = *function, launch = launch_of(*function, params)] {
    run(function, launch, *stream->context);
  });
  return CUDA_SUCCESS;
}

FAKE void fake_cuda_configure(const FakeCudaConfig* config) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.config = *config;
  const FakeCudaCounts before = std::exchange(all.counts, {});
  // Existing objects stay counted.
  all.counts.contexts = before.contexts;
  all.counts.streams = before.streams;
  all.counts.events = before.events;
  all.counts.modules = before.modules;
  all.counts.allocations = before.allocations;
  all.counts.registrations = before.registrations;
  all.counts.graphs = before.graphs;
  all.kernel = nullptr;
  all.faults.clear();
  all.fault.clear();
}

FAKE void fake_cuda_on_launch(FakeCudaKernel kernel, void* data) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.kernel = kernel;
  all.kernel_data = data;
}

FAKE void fake_cuda_fail(const char* symbol, int code, int skip) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.faults.push_back({symbol, static_cast<Code>(code), skip});
}

FAKE void fake_cuda_counts(FakeCudaCounts* counts) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  *counts = all.counts;
}

static_assert(std::is_same_v<decltype(&fake_cuda_configure), FakeCudaConfigure>);
static_assert(std::is_same_v<decltype(&fake_cuda_on_launch), FakeCudaOnLaunch>);
static_assert(std::is_same_v<decltype(&fake_cuda_fail), FakeCudaFail>);
static_assert(std::is_same_v<decltype(&fake_cuda_counts), FakeCudaCountsOf>);
