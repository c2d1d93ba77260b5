// SPDX-License-Identifier: Apache-2.0
// A work-item reports that one of its iterations has trapped.
#pragma once

#include <llvm/IR/Module.h>

namespace dhpvm::codegen {

// void report_trap(ptr addrspace(1) report, i32 site, i32 array, i64 index (3), i64 operand (3))  enters a trap into a
// KernelReport, if it is the first in iteration order so far.
llvm::FunctionCallee declare_report_trap(llvm::Module& module);

// Gives it a body, if it is called. To be done after optimisation, which would take the critical section out
// of the loop around it.
void define_report_trap(llvm::Module& module);

}  // namespace dhpvm::codegen
