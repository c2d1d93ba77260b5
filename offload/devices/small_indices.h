// SPDX-License-Identifier: Apache-2.0
// Kernels that compute indices in 32 bits, where sizes permit: who asks for them knows the sizes of a launch, and who
// compiles them, which may be a worker, does not.
#pragma once

#include <memory>

#include "offload/devices/device.h"
#include "offload/loops/loop.h"

namespace dhpvm::offload {

// Whether 32 bits suffice for an execution of a loop, as codegen::KernelRequest::has_small_indices promises. A program
// asks before it has a kernel compiled for that, and a worker before it launches one.
bool has_small_indices(const LoopChunk& chunk);

// Implemented by devices that take bytecode.
class SmallIndexLoader {
 public:
  // As Device::load(), for a kernel all of whose launches has_small_indices(). A launch that has not may fail.
  virtual Result<std::shared_ptr<Kernel>> load_small(const KernelImage& image) = 0;

 protected:
  ~SmallIndexLoader() = default;
};

}  // namespace dhpvm::offload
