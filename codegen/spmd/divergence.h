// SPDX-License-Identifier: Apache-2.0
// Divergence analysis: the shape of every value, and the branches and loops at which lanes diverge.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <vector>

#include "codegen/spmd/regions.h"
#include "codegen/spmd/shape.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

class Divergence {
 public:
  Divergence(llvm::Function& function, const Regions& regions, const std::vector<ArgShape>& args);

  // `value` is a constant, an argument or an instruction.
  Shape shape(const llvm::Value* value) const;

  // Whether lanes that run this node together may continue at different nodes.
  bool splits(const Level& level, unsigned node) const { return facts(level).splits.test(node); }
  // The nodes of the level whose splits have not been rejoined at `node`. If it is the same for a node and for its
  // dominator, the same lanes run both.
  const llvm::BitVector& apart(const Level& level, unsigned node) const { return facts(level).apart[node]; }
  // Whether lanes may arrive from different predecessors.
  bool joins(const Level& level, unsigned node) const { return facts(level).joins.test(node); }
  // Whether lanes may leave this loop in different iterations.
  bool diverges(const Level& loop) const { return facts(loop).diverges; }

  // Whether `value`, used after the edge, must be saved for lanes that take the edge earlier than others: whether it is
  // computed in a loop that the edge leaves and that lanes leave at different times.
  bool outlives(const llvm::Value* value, const llvm::BasicBlock* from, const llvm::BasicBlock* to) const;
  // Whether lanes take the edge out of the loop of `from` only in its last iteration: all that have not left by another
  // edge. Values that are live across the edge keep their shape.
  bool ends_loop(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const;
  // Whether the edge leaves such a loop.
  bool leaves_diverging_loop(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const;

 private:
  struct Facts {
    llvm::BitVector splits;
    std::vector<llvm::BitVector> apart;
    llvm::BitVector joins;
    bool diverges = false;
  };
  const Facts& facts(const Level& level) const { return facts_.find(&level)->second; }
  bool update_shapes();
  void update_control();
  void find_splits(const Level& level, Facts& facts) const;
  void spread(const Level& level, unsigned node, Facts& facts) const;
  bool leaves_apart(const Level& level, const Facts& facts) const;
  Shape phi_shape(const llvm::PHINode& phi) const;

  llvm::Function& function_;
  const Regions& regions_;
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
  llvm::DenseMap<const Level*, Facts> facts_;
};

}  // namespace dhpvm::codegen::spmd
