// SPDX-License-Identifier: Apache-2.0
// Counted loops, built with an IRBuilder.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace dhpvm::codegen::spmd {

// A loop from `low` in steps of `step` while the index is below `high`. Neither the index nor the next one overflows.
// `body` receives the index.
template <typename Body>
void counted_loop(llvm::IRBuilder<>& b, llvm::Value* low, llvm::Value* high, llvm::Value* step,
                  const char* name, Body&& body) {
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  const auto block = [&](const char* label) {
    return llvm::BasicBlock::Create(b.getContext(), label, function);
  };
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock* const header = block(name);
  llvm::BasicBlock* const inside = block("inside");
  llvm::BasicBlock* const after = block("after");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* const index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(low, before);
  b.CreateCondBr(b.CreateICmpSLT(index, high), inside, after);
  b.SetInsertPoint(inside);
  body(index);
  index->addIncoming(b.CreateNSWAdd(index, step), b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(after);
}

}  // namespace dhpvm::codegen::spmd
