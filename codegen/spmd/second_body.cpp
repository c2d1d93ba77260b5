// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/second_body.h"

#include <llvm/IR/BasicBlock.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace dhpvm::codegen::spmd {

llvm::SmallVector<llvm::BasicBlock*, 16> copy_blocks(llvm::ArrayRef<llvm::BasicBlock*> blocks,
                                                     const char* name, llvm::ValueToValueMapTy& copies) {
  llvm::SmallVector<llvm::BasicBlock*, 16> copied;
  for (llvm::BasicBlock* block : blocks) {
    copied.push_back(llvm::CloneBasicBlock(block, copies, llvm::Twine(".") + name, block->getParent()));
    copies[block] = copied.back();
  }
  llvm::remapInstructionsInBlocks(copied, copies);
  return copied;
}

}  // namespace dhpvm::codegen::spmd
