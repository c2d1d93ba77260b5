// SPDX-License-Identifier: Apache-2.0
// The control flow of a function as a tree of levels: one for the function and one for each loop.
//
// A level is an acyclic graph. Its nodes are the blocks that belong to its loop and to no inner one, and the inner
// loops, one node each; back edges and exit edges are left out. The order of nodes is topological, and each node is
// followed without a gap by all nodes that it dominates. Blocks executed in this order under masks keep every
// definition before its uses (Moll and Hack, Partial control-flow linearization, PLDI 2018).
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>

#include <memory>
#include <optional>
#include <vector>

namespace dhpvm::codegen::spmd {

inline constexpr unsigned kNoNode = ~0U;

// An edge out of a loop: from a block inside to a block outside that has no other predecessor.
struct ExitEdge {
  llvm::BasicBlock* from;
  llvm::BasicBlock* to;
};

struct Level;

struct Node {
  llvm::BasicBlock* block = nullptr;  // null for an inner loop
  Level* inner = nullptr;             // null for a block
  llvm::SmallVector<unsigned, 2> successors;
  llvm::SmallVector<unsigned, 2> predecessors;
  bool leaves = false;                // has an edge out of the level: a back edge, an exit, or a return
  unsigned dominator = kNoNode;       // immediate, within the level; kNoNode for the first node
  unsigned post_dominator = kNoNode;  // likewise; kNoNode if its paths do not rejoin in the level
};

struct Level {
  llvm::Loop* loop = nullptr;  // null for the function
  Level* parent = nullptr;
  unsigned node_in_parent = kNoNode;
  std::vector<Node> nodes;
  llvm::SmallVector<ExitEdge, 4> exits;

  bool dominates(unsigned above, unsigned below) const;
};

// The successor that branch weights mark as rare; without weights, the one for equality of two integers.
std::optional<unsigned> rare_side(const llvm::Instruction* terminator);

// A call of a cold function: few lanes execute it, or none.
bool is_cold(const llvm::Instruction& instruction);

// Whether only a return of existing values, and perhaps a cold call, follows from `block` on: this is how traps leave,
// which few lanes or none do.
bool only_returns(const llvm::BasicBlock* block);

class Regions {
 public:
  // `function` must be in the form that prepare makes.
  Regions(llvm::Function& function, const llvm::LoopInfo& loops);

  // Inner levels precede outer ones; the last one is the function's.
  const std::vector<std::unique_ptr<Level>>& levels() const { return levels_; }
  Level& top() const { return *levels_.back(); }
  // The level and the node of `block`.
  Level& level_of(const llvm::BasicBlock* block) const { return *places_.lookup(block).level; }
  unsigned node_of(const llvm::BasicBlock* block) const { return places_.lookup(block).node; }
  // The node of `level` that is or contains `block`; kNoNode if it is outside.
  unsigned node_within(const Level& level, const llvm::BasicBlock* block) const;

 private:
  struct Place {
    Level* level = nullptr;
    unsigned node = kNoNode;
  };
  Level* build(llvm::Function& function, const llvm::LoopInfo& loops, llvm::Loop* loop);

  std::vector<std::unique_ptr<Level>> levels_;
  llvm::DenseMap<const llvm::BasicBlock*, Place> places_;
};

}  // namespace dhpvm::codegen::spmd
