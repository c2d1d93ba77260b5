// SPDX-License-Identifier: Apache-2.0
// Emits the vector function: blocks in the order of their level, each under the mask of the lanes that execute it.
//
// A uniform branch stays a branch. At a divergent one, the nearer successor comes next and the other is pending: it
// runs, under its own mask, before anything that follows it in the order. A loop that lanes leave at different times
// continues until none is active; lanes that have left wait.
//
// The values of a phi are kept in a variable that the edges write, blended by mask if lanes come from different edges;
// the same holds for masks that several edges make. Finally the variables become SSA values.
#pragma once

#include <vector>

#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {

class Lineariser {
 public:
  Lineariser(llvm::Function& scalar, llvm::Function& result, const Regions& regions,
             const Divergence& divergence, const SpmdOptions& options);

  Status run();

 private:
  struct NodeState {
    llvm::BasicBlock* entry = nullptr;  // where control enters
    llvm::BitVector pending;            // nodes with lanes waiting while this one runs
    bool thinned = false;   // lanes, even all of them, may have left the loop while others were pending
    bool occupied = false;  // at least one lane is active whenever it runs
    llvm::Value* mask = nullptr;
    // Set for a node with one predecessor that splits; a variable if control comes from there in two ways.
    llvm::Value* edge_mask = nullptr;
    llvm::AllocaInst* edge_variable = nullptr;
    // The entry for control with at least one lane known to be active; null if there is none.
    llvm::BasicBlock* shortcut = nullptr;
    llvm::AllocaInst* mask_variable = nullptr;
  };
  struct LevelState {
    std::vector<NodeState> nodes;
    llvm::BasicBlock* exit = nullptr;  // the target of a diverging loop when no lane is active in it
  };

  void make_entry();
  void prepare_level(const Level& level);
  Status emit_level(const Level& level);
  Status emit_block(const Level& level, unsigned node);
  Status emit_loop(const Level& level, unsigned node);
  void enter(const Level& level, unsigned node);
  llvm::Value* find_mask(const Level& level, unsigned node);
  bool wants_guard(const Level& level, unsigned node) const;
  void reset_variables(const Level& level, unsigned node);
  void read_phis(const Level& level, unsigned node);

  Status emit_terminator(const Level& level, unsigned node);
  Status uniform_branch(const Level& level, unsigned node, llvm::BranchInst& branch);
  Status split(const Level& level, unsigned node, llvm::BranchInst& branch);
  Status split_rarely(const Level& level, unsigned node, llvm::BranchInst& branch, unsigned rare_side);
  bool is_seldom_taken(const llvm::BranchInst& branch, unsigned side) const;
  llvm::Value* none_take(const Level& level, unsigned node, llvm::BranchInst& branch, unsigned side);
  Status split_exit(const Level& level, unsigned node, llvm::BranchInst& branch, unsigned exit_side);
  Result<llvm::BasicBlock*> connect(const Level& level, unsigned node, llvm::ArrayRef<unsigned> targets,
                                    bool thins = false);
  Result<llvm::BasicBlock*> leave(const Level& level, unsigned node, llvm::BasicBlock* from,
                                  llvm::BasicBlock* to);
  void write_edge(const llvm::BasicBlock* from, const llvm::BasicBlock* to);
  bool writes_exit(const llvm::BasicBlock* to) const;
  void write_exit(const llvm::BasicBlock* from, const llvm::BasicBlock* to, llvm::Value* mask);
  Status emit_return(const Level& level, unsigned node, llvm::ReturnInst& instruction);

  bool needs_mask_variable(const Level& level, unsigned node) const;
  bool needs_variable(const llvm::PHINode& phi) const;
  llvm::AllocaInst* variable(const llvm::PHINode& phi);
  llvm::AllocaInst* mask_variable(const Level& level, unsigned node);
  llvm::AllocaInst* new_variable(llvm::Type* type, const llvm::Twine& name);
  void promote();

  NodeState& state(const Level& level, unsigned node) { return states_[&level].nodes[node]; }

  llvm::Function& scalar_;
  llvm::Function& result_;
  const Regions& regions_;
  const Divergence& divergence_;
  const SpmdOptions& options_;
  const unsigned width_;
  llvm::IRBuilder<> builder_;
  Values values_;
  Widener widener_;
  llvm::Value* root_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::DenseMap<const Level*, LevelState> states_;
  llvm::DenseMap<const llvm::PHINode*, llvm::AllocaInst*> phi_variables_;
  std::vector<llvm::AllocaInst*> variables_;
};

}  // namespace dhpvm::codegen::spmd
