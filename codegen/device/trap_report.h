// SPDX-License-Identifier: Apache-2.0
// Reports a trap of an iteration from a work-item.
#pragma once

#include <llvm/IR/Module.h>

namespace dhpvm::codegen {

// void report_trap(ptr addrspace(1) report, i32 site, i32 array, i64 index (3), i64 operand (3))  records a trap in a
// KernelReport, if it is the first in iteration order so far.
llvm::FunctionCallee declare_report_trap(llvm::Module& module);

// Defines it if it is called. Call this after optimisation, which would move the critical section out of its loop.
void define_report_trap(llvm::Module& module);

}  // namespace dhpvm::codegen
