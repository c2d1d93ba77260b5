// SPDX-License-Identifier: Apache-2.0
// The loop around the body of a parallel loop: a KernelCode that works off a chunk, several iterations at once, with
// reductions in their prescribed order (bytecode/module.h).
#pragma once

#include <llvm/IR/Module.h>

#include "bytecode/module.h"
#include "codegen/lower/kernel_lowering.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {

// The body for `width` consecutive iterations of the innermost dimension, from the given index on. Accumulators and
// results are vectors, or scalars if the width is 1.
struct WideBody {
  unsigned width = 1;  // divides bytecode::kReductionLanes
  unsigned rows = 1;   // a power of two
  // `full` and `tail` do up to `rows` consecutive indices of the dimension around the innermost one. How many is a
  // parameter (i64) in front of that for the lanes. There are no tiles then.
  bool has_row_loop = false;
  llvm::Function* full = nullptr;  // null: `tail` serves for all iterations
  // Has one more parameter at the end (i64): how many leading lanes are active. Null if the width is 1.
  llvm::Function* tail = nullptr;
  // As `full` and `tail`, for `rows` consecutive indices of the dimension around the innermost one, from the given one
  // on; or null. With operands in panels (KernelChunk::panels) they do not trap.
  llvm::Function* tile = nullptr;
  llvm::Function* tile_tail = nullptr;
  spmd::StagedOperands operands = {};
};

// Emits the function `name`, a KernelCode.
void make_kernel_loop(const bytecode::KernelRecord& record, const KernelBody& body, const WideBody& wide,
                      const char* name, llvm::Module& module);

}  // namespace dhpvm::codegen
