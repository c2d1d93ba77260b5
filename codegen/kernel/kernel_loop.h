// SPDX-License-Identifier: Apache-2.0
// The loop around the body of a parallel loop: a KernelCode that works off a chunk, several iterations at once, with
// reductions in their prescribed order (bytecode/module.h).
#pragma once

#include <llvm/IR/Module.h>

#include "bytecode/module.h"
#include "codegen/lower/kernel_lowering.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {

// The body for `width` consecutive iterations of the innermost dimension: that index is the first one; accumulators
// and results are vectors (scalars if width is 1). `tail` has an additional last parameter (i64): how many leading
// lanes are active; it is null if width is 1. `full` is null where `tail` serves for all iterations. `tile` and
// `tile_tail`, if not null, are `full` and `tail` for `rows` consecutive indices of the dimension around the innermost
// one, from the given one on. With operands in panels, KernelChunk::panels, they do not trap. Where `has_row_loop`,
// there are none, and `full` and `tail` do so for up to `rows` indices; how many is a parameter (i64) in front of that
// for the lanes.
struct WideBody {
  unsigned width = 1;  // divides bytecode::kReductionLanes
  unsigned rows = 1;   // a power of two
  bool has_row_loop = false;
  llvm::Function* full = nullptr;
  llvm::Function* tail = nullptr;
  llvm::Function* tile = nullptr;
  llvm::Function* tile_tail = nullptr;
  spmd::StagedOperands operands = {};
};

// Emits the function `name`, a KernelCode.
void make_kernel_loop(const bytecode::KernelRecord& record, const KernelBody& body, const WideBody& wide,
                      const char* name, llvm::Module& module);

}  // namespace dhpvm::codegen
