// SPDX-License-Identifier: Apache-2.0
// Puts the particulars of PTX into the IR of a kernel.
#pragma once

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen::ptx {

// Builtins become intrinsics of LLVM's back end.
void replace_builtins(llvm::Module& module);

// `atom.add.f32` on global memory takes denormals for zero: strict code does without.
void expand_inexact_updates(llvm::Module& module, bool fast_math);

// Loads from arrays that the kernel does not write go through the cache for constant data. Arrays that it writes
// overlap no other ones: loops with such arrays run on the host.
void mark_constant_loads(const DeviceEntry& entry);

// Makes the function one that the host can launch, in groups of at most a size if that is not 0. A processor has
// registers for `together` of these.
void mark_kernel(llvm::Function& function, std::uint32_t most, std::uint32_t together = 1);

}  // namespace dhpvm::codegen::ptx
