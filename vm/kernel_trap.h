// SPDX-License-Identifier: Apache-2.0
// Makes a trap inside a compiled parallel loop the trap of the program.
#pragma once

#include "codegen/codegen.h"
#include "vm/context.h"
#include "vm/linker.h"

namespace dhpvm::vm {

// Stops the program with the trap of `kernel` at `site`. Sets up frames of the interpreter, so that message and stack
// trace are the interpreter's. `window` is the loop's, and `references` are the captured arrays.
void raise_kernel_trap(Context& context, const LinkedKernel& kernel, const codegen::KernelSite& site,
                       const codegen::KernelTrap& trap, std::uint64_t* window, const gc::Ref* references);

}  // namespace dhpvm::vm
