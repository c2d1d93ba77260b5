// SPDX-License-Identifier: Apache-2.0
// Adapts the IR of a kernel to PTX.
#pragma once

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen::ptx {

// Replaces builtins by intrinsics of LLVM's back end.
void replace_builtins(llvm::Module& module);

// Expands `atom.add.f32` on global memory, which flushes denormals, unless fast_math allows it.
void expand_inexact_updates(llvm::Module& module, bool fast_math);

// Marks loads from arrays that the kernel does not write for the cache of constant data. Arrays that it writes must not
// overlap others: loops with such arrays run on the host.
void mark_constant_loads(const DeviceEntry& entry);

// Makes the function a kernel that the host can launch, in groups of at most `most` if that is not 0. A processor must
// have registers for `together` such groups.
void mark_kernel(llvm::Function& function, std::uint32_t most, std::uint32_t together = 1);

}  // namespace dhpvm::codegen::ptx
