// SPDX-License-Identifier: Apache-2.0
// The description of an inner loop that staging (staging.h) makes before it changes anything.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <vector>

namespace dhpvm::codegen::spmd {

enum class Along : std::uint8_t { kRows, kColumns };

struct Operand {
  llvm::Instruction* access = nullptr;  // a load or a store
  const llvm::SCEVAddRecExpr* address = nullptr;
  Along along = Along::kRows;  // along each lane's own row, or adjacent columns of all lanes
  // Computed on demand: the address in the first turn, and its increment per turn.
  llvm::Value* start = nullptr;
  llvm::Value* step = nullptr;
  // Where its only block is filled, if that can be before loops around the inner loop.
  llvm::Instruction* filled_before = nullptr;
};

// An operand's part of a block of turns.
struct BlockOfRow {
  const Operand& operand;
  llvm::Value* buffer;  // or a panel
  llvm::Value* row;     // the address of the lane's part
  llvm::Value* turns;
  llvm::Value* turn;  // the loop's turn in the block
};

// An inner loop that executes its whole body in each of a uniform number of turns. Its loads can be moved before it,
// because it writes no memory, or only one operand, last in each turn.
struct StagedLoop {
  llvm::Loop* loop = nullptr;
  llvm::BasicBlock* exiting = nullptr;
  llvm::BasicBlock* exit = nullptr;
  const llvm::SCEV* back_edges = nullptr;  // number taken: one less than turns
  llvm::Value* last = nullptr;             // the same as a value, created on demand
  unsigned known_turns = 0;                // 0: unknown
  llvm::StoreInst* store = nullptr;        // its only store, if any
  bool packs = false;                      // packs its operands for all rows
  std::vector<Operand> operands = {};
};

}  // namespace dhpvm::codegen::spmd
