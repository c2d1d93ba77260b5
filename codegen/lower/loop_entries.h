// SPDX-License-Identifier: Apache-2.0
// Leads a continuation to the loop header at which it continues.
//
// A branch into the middle of a loop would make it irreducible, so that no loop pass applies. So loops are entered by
// their headers only, and a continuation in a nested loop passes the headers around it: each tests whether a loop
// inside it is requested. That is one comparison, which is never true after the first time.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/loop_tree.h"
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

// Belongs to the lowering of one function.
class LoopEntries {
 public:
  // `loop`: the header of the outermost loop that the continuation runs. `requested`: the block number of the loop
  // header at which to continue, an i32 argument of the function. Emits code at the function's entry.
  LoopEntries(Lowering& lowering, std::uint32_t loop, llvm::Value* requested);

  // The headers of the loop, and of those inside it.
  std::vector<std::uint32_t> headers() const;
  // Whether the block is in the loop.
  bool contains(std::uint32_t block) const { return loops_.body(loop_)[block]; }
  // Ends the block with a branch towards the requested header.
  void enter();
  // Called at the start of the loop header `block`: branches on to a loop inside it if that is requested.
  void pass(std::uint32_t block);

 private:
  llvm::BasicBlock* way_into(std::uint32_t header);
  void branch(llvm::Value* wanted, const std::vector<std::uint32_t>& headers, std::uint32_t outer,
              llvm::BasicBlock* otherwise);

  Lowering& lowering_;
  IrEmitter& ir_;
  llvm::IRBuilder<>& b_;
  const bytecode::LoopTree loops_;
  const std::uint32_t loop_;
  llvm::Value* const requested_;
  llvm::AllocaInst* wanted_ = nullptr;  // `requested` until control has reached that header
};

}  // namespace dhpvm::codegen
