// SPDX-License-Identifier: Apache-2.0
// Compares driver_api.h with NVIDIA's own header, at compile time, on machines that have it.
#include "offload/drivers/cuda/driver_api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>
#include <type_traits>

namespace dhpvm::offload::cu {
namespace {

// Enums are integers to the calling convention; their names are not compared.
template <typename T>
struct Plain {
  using type = T;
};
template <typename T>
  requires std::is_enum_v<T>
struct Plain<T> {
  using type = std::make_signed_t<std::underlying_type_t<T>>;
};
template <typename T>
  requires std::is_enum_v<T>
struct Plain<T*> {
  using type = typename Plain<T>::type*;
};
// Compared member by member below.
template <>
struct Plain<const CUDA_KERNEL_NODE_PARAMS_v2*> {
  using type = const KernelNodeParams*;
};
template <>
struct Plain<const CUDA_MEMCPY3D_v2*> {
  using type = const CopyNodeParams*;
};
template <typename Return, typename... Arguments>
struct Plain<Return (*)(Arguments...)> {
  using type = typename Plain<Return>::type (*)(typename Plain<Arguments>::type...);
};

// The header hides the first version of this function, which all drivers have, behind the second; they are alike.
#define cuEventElapsedTime cuEventElapsedTime_v2
#define X(member, symbol, parameters)                                                               \
  static_assert(std::is_same_v<Plain<decltype(Api::member)>::type, Plain<decltype(&symbol)>::type>, \
                #symbol " is declared differently by cuda.h");
DHPVM_CUDA_FUNCTIONS(X)
DHPVM_CUDA_GRAPH_FUNCTIONS(X)
#undef X

#define X(member, theirs)                                                                             \
  static_assert(offsetof(KernelNodeParams, member) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, theirs) && \
                sizeof(KernelNodeParams::member) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2::theirs))
X(function, func);
X(grid_x, gridDimX);
X(block_z, blockDimZ);
X(shared, sharedMemBytes);
X(parameters, kernelParams);
X(extra, extra);
X(kernel, kern);
X(context, ctx);
#undef X
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
#define X(member, theirs) \
  static_assert(offsetof(CopyNodeParams, member) == offsetof(CUDA_MEMCPY3D_v2, theirs))
X(from.type, srcMemoryType);
X(from.host, srcHost);
X(from.device, srcDevice);
X(from.array, srcArray);
X(from.pitch, srcPitch);
X(to.x, dstXInBytes);
X(to.type, dstMemoryType);
X(to.host, dstHost);
X(to.device, dstDevice);
X(to.height, dstHeight);
X(bytes, WidthInBytes);
X(height, Height);
X(depth, Depth);
#undef X
static_assert(sizeof(CopyNodeParams) == sizeof(CUDA_MEMCPY3D_v2));
static_assert(static_cast<unsigned>(MEMORYTYPE_HOST) == CU_MEMORYTYPE_HOST);
static_assert(static_cast<unsigned>(MEMORYTYPE_DEVICE) == CU_MEMORYTYPE_DEVICE);

#define X(name, number) static_assert(static_cast<int>(::CUDA_##name) == number);
DHPVM_CUDA_CODES(X)
#undef X
#define X(name, number) static_assert(static_cast<int>(CU_DEVICE_ATTRIBUTE_##name) == number);
DHPVM_CUDA_ATTRIBUTES(X)
#undef X
static_assert(kComputeModeProhibited == CU_COMPUTEMODE_PROHIBITED);
static_assert(static_cast<int>(MAX_THREADS_PER_BLOCK) == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(static_cast<unsigned>(JIT_ERROR_LOG_BUFFER) == CU_JIT_ERROR_LOG_BUFFER);
static_assert(static_cast<unsigned>(JIT_ERROR_LOG_BUFFER_SIZE_BYTES) == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventBlockingSync == CU_EVENT_BLOCKING_SYNC);
static_assert(kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(kHostRegisterPortable == CU_MEMHOSTREGISTER_PORTABLE);

TEST(CudaDriverApi, IsDeclaredAsInTheVendorsHeader) { SUCCEED() << "compared when this was compiled"; }

}  // namespace
}  // namespace dhpvm::offload::cu
#else
TEST(CudaDriverApi, IsDeclaredAsInTheVendorsHeader) {
  GTEST_SKIP() << "SKIP: there is no cuda.h on this machine";
}
#endif
