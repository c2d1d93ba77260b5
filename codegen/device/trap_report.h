// SPDX-License-Identifier: Apache-2.0
// How a work-item tells that an iteration of its own has trapped.
#pragma once

#include <llvm/IR/Module.h>

namespace dhpvm::codegen {

// Emits  void report_trap(ptr addrspace(1) report, i32 site, i32 array, i64 index (3), i64 operand (3))  which enters a
// trap into a KernelReport, if it is the first in iteration order so far. The function must neither be inlined nor
// optimised: see there.
llvm::Function* make_report_trap(llvm::Module& module);

}  // namespace dhpvm::codegen
