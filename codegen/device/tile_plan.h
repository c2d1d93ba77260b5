// SPDX-License-Identifier: Apache-2.0
// Plans the use of a group's local memory to coalesce the accesses of a loop's body.
//
// Neighbouring work-items run neighbouring iterations. If an inner loop walks along a different row in each iteration,
// as in sums of rows, their simultaneous accesses are a row apart, and a GPU fetches a whole sector for each. Such a
// loop is cut into tiles of turns. The group loads a tile of all its rows together, in memory order, and each work-item
// then walks along its row in local memory, so that the order of every sum is unchanged. Elements that the loop writes
// take the same way back. tile_loops.h makes the code.
//
// If iterations of a square share operands, as in a product of matrices, the group loads the operands of the whole
// square for some turns, each element once, and each work-item runs several of its iterations together.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <cstdint>
#include <vector>

namespace dhpvm::codegen {

// Accesses to one address in each turn. Addresses are in bytes; all values are loop-invariant.
struct TiledOperand {
  llvm::SmallVector<llvm::Instruction*, 2> accesses;  // loads and stores, in the order of execution
  bool is_loaded = false;                             // some of them are loads
  bool is_stored = false;
  llvm::MDNode* type = nullptr;   // for alias analysis; null if the accesses differ
  unsigned bytes = 0;             // of an element
  llvm::Value* step = nullptr;    // bytes from turn to turn; the size of an element in rows
  llvm::Value* origin = nullptr;  // the address in turn 0 of the iteration with indices 0
  // By index, the change of the address when that index grows by 1; null: none.
  std::array<llvm::Value*, 3> strides = {};
};

// A loop that each iteration enters at most once, with the same number of turns in all of them.
struct TiledLoop {
  llvm::BasicBlock* decides = nullptr;  // where all iterations either enter the loop or skip it
  llvm::BasicBlock* before = nullptr;   // the only entry
  llvm::BasicBlock* header = nullptr;
  llvm::BasicBlock* latch = nullptr;  // the last block, and the only exit
  llvm::BasicBlock* after = nullptr;
  std::vector<llvm::BasicBlock*> blocks;  // all blocks of the loop
  std::size_t instructions = 0;           // in them
  llvm::Value* turns = nullptr;           // loop-invariant; 0 if iterations skip the loop
  std::vector<TiledOperand> operands;
};

struct TilePlan {
  llvm::Instruction* begin = nullptr;  // the instructions before it compute the loop-invariant values
  std::vector<TiledLoop> loops;        // in the order of execution
};

// The number of turns in a tile. A row of at least 128 bytes may begin within a sector, and so touches at most a
// quarter more sectors than it fills.
unsigned turns_of_tile(unsigned element_bytes);

enum class TileShape : std::uint8_t {
  kRows,    // loads and stores along a different row in each iteration
  kSquare,  // loads that depend on one of two indices, in loops with both kinds
};

// `indices` are the function's arguments with the indices of an iteration, by dimension; neighbours differ in the last
// one. Other arguments are uniform; `arrays` has the descriptors. Computes the values of the plan at the function's
// entry, and changes nothing else. An empty plan means that there is nothing to do.
TilePlan plan_tiles(llvm::Function& body, llvm::Argument& arrays, llvm::ArrayRef<llvm::Argument*> indices,
                    TileShape shape);

}  // namespace dhpvm::codegen
