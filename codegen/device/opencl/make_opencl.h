// SPDX-License-Identifier: Apache-2.0
// OpenCL C, printed from LLVM's IR.
#pragma once

#include <memory>

#include "codegen/device/language.h"

namespace dhpvm::codegen {

// Makes kernels for OpenCL 1.2; kUnsupported if the device lacks something that the loop needs.
std::unique_ptr<KernelLanguage> opencl_language();

}  // namespace dhpvm::codegen
