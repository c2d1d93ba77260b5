// SPDX-License-Identifier: Apache-2.0
// Second bodies of functions, for what lanes mostly have in common (flat_indices.h, equal_turns.h).
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

namespace llvm {
class BasicBlock;
}

namespace dhpvm::codegen::spmd {

// Instructions up to which a body is worth compiling a second time.
constexpr unsigned kLargestSecondBody = 400;

// Copies of the blocks, in their function, that refer to each other, and to what `copies` says. It says afterwards what
// was copied.
llvm::SmallVector<llvm::BasicBlock*, 16> copy_blocks(llvm::ArrayRef<llvm::BasicBlock*> blocks,
                                                     const char* name, llvm::ValueToValueMapTy& copies);

}  // namespace dhpvm::codegen::spmd
