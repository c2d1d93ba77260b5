// SPDX-License-Identifier: Apache-2.0
// The loop around the body of a parallel loop: a KernelCode that processes a chunk, several iterations at once, with
// reductions in their prescribed order (bytecode/module.h).
#pragma once

#include <llvm/IR/Module.h>

#include "bytecode/module.h"
#include "codegen/lower/kernel_lowering.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {

// The body for `width` consecutive iterations of the innermost dimension, starting with the given index. Accumulators
// and results are vectors, or scalars if the width is 1.
struct WideBody {
  unsigned width = 1;  // divides bytecode::kReductionLanes
  unsigned rows = 1;   // a power of two
  // `full` and `tail` run up to `rows` consecutive indices of the dimension around the innermost one. Their number is a
  // parameter (i64) before that for the lanes. There are no tiles then.
  bool has_row_loop = false;
  llvm::Function* full = nullptr;  // null: `tail` runs all iterations
  // Takes an additional last parameter (i64): the number of active leading lanes. Null if the width is 1.
  llvm::Function* tail = nullptr;
  // As `full` and `tail`, for `rows` consecutive indices of the dimension around the innermost one, starting with the
  // given one; or null. With operands in panels (KernelChunk::panels) they do not trap.
  llvm::Function* tile = nullptr;
  llvm::Function* tile_tail = nullptr;
  spmd::StagedOperands operands = {};
};

// Emits the function `name`, a KernelCode.
void make_kernel_loop(const bytecode::KernelRecord& record, const KernelBody& body, const WideBody& wide,
                      const char* name, llvm::Module& module);

}  // namespace dhpvm::codegen
