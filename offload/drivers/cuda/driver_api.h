// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that is used here: its types, constants and
// functions, declared anew so that neither building nor starting needs NVIDIA's
// files. The functions are one table that is filled when the driver is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dhpvm/result.h"
#include "offload/drivers/library.h"

// The driver's objects, under the names that its interface has for them.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUkern_st;
struct CUarray_st;

namespace dhpvm::offload::cu {

using Ordinal = int;                 // of a device
using Address = unsigned long long;  // of memory of a device
using Context = CUctx_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Graph = CUgraph_st*;
using GraphNode = CUgraphNode_st*;
using GraphExec = CUgraphExec_st*;
using HostFunction = void (*)(void* data);
using SharedMemoryOfBlock = std::size_t (*)(int threads);

// X(name, number): results of calls.
#define DHPVM_CUDA_CODES(X)                    \
  X(SUCCESS, 0)                                \
  X(ERROR_INVALID_VALUE, 1)                    \
  X(ERROR_OUT_OF_MEMORY, 2)                    \
  X(ERROR_NOT_INITIALIZED, 3)                  \
  X(ERROR_DEINITIALIZED, 4)                    \
  X(ERROR_STUB_LIBRARY, 34)                    \
  X(ERROR_DEVICE_UNAVAILABLE, 46)              \
  X(ERROR_NO_DEVICE, 100)                      \
  X(ERROR_INVALID_DEVICE, 101)                 \
  X(ERROR_INVALID_IMAGE, 200)                  \
  X(ERROR_INVALID_CONTEXT, 201)                \
  X(ERROR_NO_BINARY_FOR_GPU, 209)              \
  X(ERROR_ECC_UNCORRECTABLE, 214)              \
  X(ERROR_INVALID_PTX, 218)                    \
  X(ERROR_NVLINK_UNCORRECTABLE, 220)           \
  X(ERROR_JIT_COMPILER_NOT_FOUND, 221)         \
  X(ERROR_UNSUPPORTED_PTX_VERSION, 222)        \
  X(ERROR_JIT_COMPILATION_DISABLED, 223)       \
  X(ERROR_CONTAINED, 226)                      \
  X(ERROR_OPERATING_SYSTEM, 304)               \
  X(ERROR_INVALID_HANDLE, 400)                 \
  X(ERROR_NOT_FOUND, 500)                      \
  X(ERROR_NOT_READY, 600)                      \
  X(ERROR_ILLEGAL_ADDRESS, 700)                \
  X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701)        \
  X(ERROR_LAUNCH_TIMEOUT, 702)                 \
  X(ERROR_CONTEXT_IS_DESTROYED, 709)           \
  X(ERROR_ASSERT, 710)                         \
  X(ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
  X(ERROR_HOST_MEMORY_NOT_REGISTERED, 713)     \
  X(ERROR_HARDWARE_STACK_ERROR, 714)           \
  X(ERROR_ILLEGAL_INSTRUCTION, 715)            \
  X(ERROR_MISALIGNED_ADDRESS, 716)             \
  X(ERROR_INVALID_ADDRESS_SPACE, 717)          \
  X(ERROR_INVALID_PC, 718)                     \
  X(ERROR_LAUNCH_FAILED, 719)                  \
  X(ERROR_TENSOR_MEMORY_LEAK, 721)             \
  X(ERROR_NOT_PERMITTED, 800)                  \
  X(ERROR_NOT_SUPPORTED, 801)                  \
  X(ERROR_SYSTEM_NOT_READY, 802)               \
  X(ERROR_SYSTEM_DRIVER_MISMATCH, 803)         \
  X(ERROR_MPS_CLIENT_TERMINATED, 810)          \
  X(ERROR_EXTERNAL_DEVICE, 911)                \
  X(ERROR_UNKNOWN, 999)
enum Code : int {
#define X(name, number) CUDA_##name = number,
  DHPVM_CUDA_CODES(X)
#undef X
};

// X(name, number): properties of a device, without the prefix CU_DEVICE_ATTRIBUTE_.
#define DHPVM_CUDA_ATTRIBUTES(X)        \
  X(MULTIPROCESSOR_COUNT, 16)           \
  X(KERNEL_EXEC_TIMEOUT, 17)            \
  X(COMPUTE_MODE, 20)                   \
  X(MAX_THREADS_PER_MULTIPROCESSOR, 39) \
  X(ASYNC_ENGINE_COUNT, 40)             \
  X(UNIFIED_ADDRESSING, 41)             \
  X(COMPUTE_CAPABILITY_MAJOR, 75)       \
  X(COMPUTE_CAPABILITY_MINOR, 76)
enum Attribute : int {
#define X(name, number) name = number,
  DHPVM_CUDA_ATTRIBUTES(X)
#undef X
};
inline constexpr int kComputeModeProhibited = 2;

enum FunctionAttribute : int { MAX_THREADS_PER_BLOCK = 0, LOCAL_SIZE_BYTES = 3 };
enum JitOption : unsigned { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostRegisterPortable = 1;

// A launch as a node of a graph.
struct KernelNodeParams {
  Function function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  CUkern_st* kernel = nullptr;  // used instead of a function
  Context context = nullptr;
};
// A copy as a node of a graph: a box of bytes, of which only one row is used here.
enum MemoryType : unsigned { MEMORYTYPE_HOST = 1, MEMORYTYPE_DEVICE = 2 };
struct CopyEnd {
  std::size_t x = 0, y = 0, z = 0, level = 0;
  MemoryType type = MEMORYTYPE_DEVICE;
  void* host = nullptr;
  Address device = 0;
  CUarray_st* array = nullptr;
  void* reserved = nullptr;
  std::size_t pitch = 0, height = 0;
};
struct CopyNodeParams {
  CopyEnd from;
  CopyEnd to;
  std::size_t bytes = 0, height = 1, depth = 1;
};

// X(member, symbol, parameters). If the driver has several versions of a function, the symbol names the one used here.
#define DHPVM_CUDA_FUNCTIONS(X)                                                                              \
  X(GetErrorName, cuGetErrorName, (Code code, const char** name))                                            \
  X(GetErrorString, cuGetErrorString, (Code code, const char** text))                                        \
  X(Init, cuInit, (unsigned flags))                                                                          \
  X(DriverGetVersion, cuDriverGetVersion, (int* version))                                                    \
  X(DeviceGetCount, cuDeviceGetCount, (int* count))                                                          \
  X(DeviceGet, cuDeviceGet, (Ordinal * device, int index))                                                   \
  X(DeviceGetName, cuDeviceGetName, (char* name, int size, Ordinal device))                                  \
  X(DeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t* bytes, Ordinal device))                               \
  X(DeviceGetAttribute, cuDeviceGetAttribute, (int* value, Attribute attribute, Ordinal device))             \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (Context * context, Ordinal device))                   \
  X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (Ordinal device))                                 \
  X(CtxPushCurrent, cuCtxPushCurrent_v2, (Context context))                                                  \
  X(CtxPopCurrent, cuCtxPopCurrent_v2, (Context * context))                                                  \
  X(MemGetInfo, cuMemGetInfo_v2, (std::size_t* free, std::size_t* total))                                    \
  X(MemAlloc, cuMemAlloc_v2, (Address * address, std::size_t bytes))                                         \
  X(MemFree, cuMemFree_v2, (Address address))                                                                \
  X(MemHostAlloc, cuMemHostAlloc, (void** memory, std::size_t bytes, unsigned flags))                        \
  X(MemFreeHost, cuMemFreeHost, (void* memory))                                                              \
  X(MemHostRegister, cuMemHostRegister_v2, (void* memory, std::size_t bytes, unsigned flags))                \
  X(MemHostUnregister, cuMemHostUnregister, (void* memory))                                                  \
  X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (Address to, const void* from, std::size_t bytes, Stream stream)) \
  X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void* to, Address from, std::size_t bytes, Stream stream))       \
  X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (Address to, Address from, std::size_t bytes, Stream stream))     \
  X(MemsetD8Async, cuMemsetD8Async, (Address to, unsigned char value, std::size_t bytes, Stream stream))     \
  X(ModuleLoadDataEx, cuModuleLoadDataEx,                                                                    \
    (Module * module, const void* image, unsigned count, JitOption* options, void** values))                 \
  X(ModuleGetFunction, cuModuleGetFunction, (Function * function, Module module, const char* name))          \
  X(ModuleUnload, cuModuleUnload, (Module module))                                                           \
  X(FuncGetAttribute, cuFuncGetAttribute, (int* value, FunctionAttribute attribute, Function function))      \
  X(OccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize,                                        \
    (int* grid, int* block, Function function, SharedMemoryOfBlock shared_of_block, std::size_t shared,      \
     int most))                                                                                              \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,                  \
    (int* blocks, Function function, int block, std::size_t shared))                                         \
  X(LaunchKernel, cuLaunchKernel,                                                                            \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                 \
     unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** parameters, void** extra))   \
  X(LaunchHostFunc, cuLaunchHostFunc, (Stream stream, HostFunction function, void* data))                    \
  X(StreamCreate, cuStreamCreate, (Stream * stream, unsigned flags))                                         \
  X(StreamDestroy, cuStreamDestroy_v2, (Stream stream))                                                      \
  X(StreamWaitEvent, cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                        \
  X(StreamSynchronize, cuStreamSynchronize, (Stream stream))                                                 \
  X(EventCreate, cuEventCreate, (Event * event, unsigned flags))                                             \
  X(EventDestroy, cuEventDestroy_v2, (Event event))                                                          \
  X(EventRecord, cuEventRecord, (Event event, Stream stream))                                                \
  X(EventQuery, cuEventQuery, (Event event))                                                                 \
  X(EventSynchronize, cuEventSynchronize, (Event event))                                                     \
  X(EventElapsedTime, cuEventElapsedTime, (float* milliseconds, Event begin, Event end))

// Functions that drivers before CUDA 12 lack, or have in another form. All of them are null if one is missing.
#define DHPVM_CUDA_GRAPH_FUNCTIONS(X)                                                                      \
  X(GraphCreate, cuGraphCreate, (Graph * graph, unsigned flags))                                           \
  X(GraphDestroy, cuGraphDestroy, (Graph graph))                                                           \
  X(GraphAddKernelNode, cuGraphAddKernelNode_v2,                                                           \
    (GraphNode * node, Graph graph, const GraphNode* after, std::size_t count,                             \
     const KernelNodeParams* launch))                                                                      \
  X(GraphAddMemcpyNode, cuGraphAddMemcpyNode,                                                              \
    (GraphNode * node, Graph graph, const GraphNode* after, std::size_t count, const CopyNodeParams* copy, \
     Context context))                                                                                     \
  X(GraphInstantiate, cuGraphInstantiateWithFlags,                                                         \
    (GraphExec * exec, Graph graph, unsigned long long flags))                                             \
  X(GraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2,                                       \
    (GraphExec exec, GraphNode node, const KernelNodeParams* launch))                                      \
  X(GraphExecDestroy, cuGraphExecDestroy, (GraphExec exec))                                                \
  X(GraphLaunch, cuGraphLaunch, (GraphExec exec, Stream stream))

// Whether the driver has not begun this launch, and may accept it in another form.
bool is_refused(Code code);

struct Api {
#define X(member, symbol, parameters) Code(*member) parameters = nullptr;
  DHPVM_CUDA_FUNCTIONS(X)
  DHPVM_CUDA_GRAPH_FUNCTIONS(X)
#undef X
  std::unique_ptr<Library> library;

  // Loads and initialises the driver. kNotFound, with the remedy, when there is no `library` or no device.
  static Result<std::shared_ptr<const Api>> load(const std::string& library);

  // Whether the driver takes several operations as one graph.
  bool has_graphs() const { return GraphLaunch != nullptr; }
  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  std::string name_of(Code code) const;
  // The error for a failed call. `call` is its name, "cuLaunchKernel".
  Error error_of(Code code, std::string_view call) const;
};

}  // namespace dhpvm::offload::cu
