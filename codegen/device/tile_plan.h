// SPDX-License-Identifier: Apache-2.0
// The accesses of a loop's body that are brought into the order of memory by way of a group's local memory.
//
// Neighbouring work-items do neighbouring iterations. Where an inner loop goes along a row of each iteration's own,
// as in sums of rows, what they access at the same time lies a row apart, and a GPU fetches a whole sector for each
// of them. Such a loop is cut into tiles of turns. The group loads a tile of all its rows together, in the order in
// which they lie, and each work-item then walks its own row in local memory: every sum stays in its order. Elements
// that the loop writes go the same way back. tile_loops.h makes the code.
//
// Where iterations of a square share operands, as those of a product of matrices do, the group loads what all of the
// square need in some turns, each element once, and each work-item does several of its iterations at once.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <cstdint>
#include <vector>

namespace dhpvm::codegen {

// Accesses to one address of each turn. Addresses are numbers of bytes; all values are known at the function's begin.
struct TiledOperand {
  llvm::SmallVector<llvm::Instruction*, 2> accesses;  // loads and stores, in the order of execution
  bool is_loaded = false;                             // some of them load
  bool is_stored = false;
  llvm::MDNode* type = nullptr;   // for alias analysis, if they agree
  unsigned bytes = 0;             // of an element
  llvm::Value* step = nullptr;    // bytes from turn to turn; in rows as many as an element has
  llvm::Value* origin = nullptr;  // the address in turn 0 of the iteration whose indices are 0
  // By index, how much farther it lies if that one grows by 1; null: no farther.
  std::array<llvm::Value*, 3> strides = {};
};

// A loop that each iteration comes to once, with as many turns as all others have.
struct TiledLoop {
  llvm::BasicBlock* decides = nullptr;  // where iterations come to the loop or, all of them, go past it
  llvm::BasicBlock* before = nullptr;   // the only way in
  llvm::BasicBlock* header = nullptr;
  llvm::BasicBlock* latch = nullptr;  // its last block, and the only way out
  llvm::BasicBlock* after = nullptr;
  std::vector<llvm::BasicBlock*> blocks;  // all of the loop
  std::size_t instructions = 0;           // in them
  llvm::Value* turns = nullptr;           // known at the function's begin; 0 if iterations go past the loop
  std::vector<TiledOperand> operands;
};

struct TilePlan {
  llvm::Instruction* begin = nullptr;  // the instructions before it compute what is known at the begin
  std::vector<TiledLoop> loops;        // in the order of execution
};

// The turns of a tile. A row of 128 bytes at least begins within a sector, and so touches at most a quarter more of
// them than it fills.
unsigned turns_of_tile(unsigned element_bytes);

enum class TileShape : std::uint8_t {
  kRows,    // loads and stores along a row of each iteration's own
  kSquare,  // loads that depend on one of two indices, in loops that have some of either kind
};

// `indices` are the function's arguments with the indices of an iteration, by dimension; neighbours differ in the last
// one. Other arguments are the same in all iterations; `arrays` has the descriptors. Computes at the begin of the
// function what the plan refers to, and changes nothing else. No loops: nothing is to be done.
TilePlan plan_tiles(llvm::Function& body, llvm::Argument& arrays, llvm::ArrayRef<llvm::Argument*> indices,
                    TileShape shape);

}  // namespace dhpvm::codegen
