// SPDX-License-Identifier: Apache-2.0
// PTX, for NVIDIA's GPUs.
#pragma once

#include <memory>

#include "codegen/device/language.h"

namespace dhpvm::codegen {

// Makes kernels for the architectures that LLVM knows, and loops with mathematical functions where CUDA's
// library of them is found; kUnsupported for others.
std::unique_ptr<KernelLanguage> ptx_language();

}  // namespace dhpvm::codegen
