// SPDX-License-Identifier: Apache-2.0
// The end of a block: the successors of the lanes, and the lanes that wait.
#include <llvm/IR/MDBuilder.h>

#include "base/error.h"
#include "codegen/spmd/lineariser.h"

namespace dhpvm::codegen::spmd {

Status Lineariser::emit_terminator(const Level& level, unsigned node) {
  llvm::BasicBlock* block = level.nodes[node].block;
  llvm::Instruction* terminator = block->getTerminator();
  if (auto* instruction = llvm::dyn_cast<llvm::ReturnInst>(terminator))
    return emit_return(level, node, *instruction);
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(terminator);
  if (branch == nullptr) return unsupported(*terminator, "this way to leave a block");
  if (branch->isConditional()) {
    return divergence_.splits(level, node) ? split(level, node, *branch)
                                           : uniform_branch(level, node, *branch);
  }
  llvm::BasicBlock* to = branch->getSuccessor(0);
  write_edge(block, to);
  if (level.loop != nullptr && to == level.loop->getHeader()) {
    if (divergence_.diverges(level)) builder_.CreateStore(state(level, node).mask, mask_variable(level, 0));
    if (state(level, node).pending.any())
      return error(ErrorCode::kInternal, "lanes are pending at a back edge");
    builder_.CreateBr(state(level, 0).entry);
    return {};
  }
  DHPVM_ASSIGN(llvm::BasicBlock * next, connect(level, node, {regions_.node_within(level, to)}));
  builder_.CreateBr(next);
  return {};
}

Status Lineariser::emit_return(const Level& level, unsigned node, llvm::ReturnInst& instruction) {
  if (state(level, node).pending.any()) return error(ErrorCode::kInternal, "lanes are pending at the return");
  const llvm::Value* value = instruction.getReturnValue();
  if (value == nullptr) {
    builder_.CreateRetVoid();
  } else {
    builder_.CreateRet(values_.vector(value));
  }
  return {};
}

Status Lineariser::uniform_branch(const Level& level, unsigned node, llvm::BranchInst& branch) {
  llvm::BasicBlock* const end = builder_.GetInsertBlock();
  llvm::BasicBlock* targets[2];
  for (unsigned side = 0; side < 2; ++side) {
    llvm::BasicBlock* to = branch.getSuccessor(side);
    const unsigned target = regions_.node_within(level, to);
    DHPVM_ASSIGN(targets[side], target == kNoNode ? leave(level, node, branch.getParent(), to)
                                                  : connect(level, node, {target}));
  }
  builder_.SetInsertPoint(end);
  llvm::BranchInst* const made =
      builder_.CreateCondBr(values_.scalar(branch.getCondition()), targets[0], targets[1]);
  made->setMetadata(llvm::LLVMContext::MD_prof, branch.getMetadata(llvm::LLVMContext::MD_prof));
  return {};
}

// All lanes of this node leave a loop together, from the block `from`: returns the block where they continue.
Result<llvm::BasicBlock*> Lineariser::leave(const Level& level, unsigned node, llvm::BasicBlock* from,
                                            llvm::BasicBlock* to) {
  llvm::Value* mask = state(level, node).mask;
  const Level* at = &level;
  // Leaving loops that no lane stays in needs no saved values.
  while (regions_.node_within(*at, to) == kNoNode && !divergence_.diverges(*at)) {
    if (state(*at, node).pending.any())
      return error(ErrorCode::kInternal, "lanes are pending in a loop that all leave");
    node = at->node_in_parent;
    at = at->parent;
  }
  if (const unsigned target = regions_.node_within(*at, to); target != kNoNode)
    return connect(*at, node, {target});
  llvm::BasicBlock* edge = llvm::BasicBlock::Create(result_.getContext(), "leave", &result_);
  builder_.SetInsertPoint(edge);
  write_exit(from, to, mask);
  DHPVM_ASSIGN(llvm::BasicBlock * next, connect(*at, node, {}, /*thins=*/true));
  builder_.CreateBr(next);
  return edge;
}

Status Lineariser::split(const Level& level, unsigned node, llvm::BranchInst& branch) {
  const unsigned targets[2] = {regions_.node_within(level, branch.getSuccessor(0)),
                               regions_.node_within(level, branch.getSuccessor(1))};
  if (targets[0] == kNoNode) return split_exit(level, node, branch, 0);
  if (targets[1] == kNoNode) return split_exit(level, node, branch, 1);
  for (unsigned side = 0; side < 2; ++side) {
    // A rare side comes first in the order, unless it reaches as many nodes as the other.
    const bool is_rare = only_returns(branch.getSuccessor(side)) || is_seldom_taken(branch, side);
    if (is_rare && targets[side] < targets[1 - side]) {
      return split_rarely(level, node, branch, side);
    }
  }
  llvm::Value* mask = state(level, node).mask;
  llvm::Value* condition = values_.vector(branch.getCondition());
  for (unsigned side = 0; side < 2; ++side) {
    state(level, targets[side]).edge_mask = widener_.narrow(mask, condition, side == 0);
  }
  DHPVM_ASSIGN(llvm::BasicBlock * next, connect(level, node, targets));
  builder_.CreateBr(next);
  return {};
}

// Whether few vectors have a lane that takes the branch to `side`: by the branch weights; or because it tests a lane
// index for equality with a uniform value, as for the edge of a grid.
bool Lineariser::is_seldom_taken(const llvm::BranchInst& branch, unsigned side) const {
  if (rare_side(&branch) != side) return false;
  if (branch.hasMetadata(llvm::LLVMContext::MD_prof)) return true;
  const auto* compare = llvm::cast<llvm::ICmpInst>(branch.getCondition());
  const Shape left = divergence_.shape(compare->getOperand(0));
  const Shape right = divergence_.shape(compare->getOperand(1));
  const Shape index = Shape::affine(1);
  return (left == index && right.is_uniform()) || (left.is_uniform() && right == index);
}

// i1: true only if no active lane takes the branch to `side`.
llvm::Value* Lineariser::none_take(const Level& level, unsigned node, llvm::BranchInst& branch,
                                   unsigned side) {
  const llvm::Value* condition = branch.getCondition();
  // Only if a lane is active: otherwise a uniform value may be undefined.
  llvm::Value* agree = state(level, node).occupied ? widener_.all_lanes_are(condition, side != 0) : nullptr;
  if (agree != nullptr) return agree;
  llvm::Value* taking = widener_.narrow(state(level, node).mask, values_.vector(condition), side == 0);
  return builder_.CreateNot(widener_.any(taking));
}

// A split of which one side is taken by few lanes or none: if by none, the other side continues immediately with an
// unchanged mask. Its mask is a variable, because it shrinks after the rare case.
Status Lineariser::split_rarely(const Level& level, unsigned node, llvm::BranchInst& branch,
                                unsigned rare_side) {
  const unsigned rare = regions_.node_within(level, branch.getSuccessor(rare_side));
  const unsigned common = regions_.node_within(level, branch.getSuccessor(1 - rare_side));
  llvm::Value* mask = state(level, node).mask;
  NodeState& next = state(level, common);
  next.edge_variable = new_variable(mask->getType(), "mask");
  next.shortcut = llvm::BasicBlock::Create(result_.getContext(), next.entry->getName(), &result_);
  builder_.CreateStore(mask, next.edge_variable);
  llvm::BasicBlock* some = llvm::BasicBlock::Create(result_.getContext(), "rare", &result_);
  builder_.CreateCondBr(none_take(level, node, branch, rare_side), next.shortcut, some,
                        llvm::MDBuilder(result_.getContext()).createLikelyBranchWeights());
  builder_.SetInsertPoint(some);
  llvm::Value* condition = values_.vector(branch.getCondition());
  state(level, rare).edge_mask = widener_.narrow(mask, condition, rare_side == 0);
  builder_.CreateStore(widener_.narrow(mask, condition, rare_side != 0), next.edge_variable);
  DHPVM_ASSIGN(llvm::BasicBlock * to, connect(level, node, {rare, common}));
  builder_.CreateBr(to);
  return {};
}

// Some lanes leave the loop, the others stay. Each lane leaves once, but the loop may run for long: the code that saves
// the values of leaving lanes is out of line.
Status Lineariser::split_exit(const Level& level, unsigned node, llvm::BranchInst& branch,
                              unsigned exit_side) {
  llvm::BasicBlock* outside = branch.getSuccessor(exit_side);
  const unsigned inside = regions_.node_within(level, branch.getSuccessor(1 - exit_side));
  llvm::Value* mask = state(level, node).mask;
  NodeState& next = state(level, inside);
  const bool alone = state(level, node).pending.none();
  // Pending lanes must catch up before a test can show whether any lane is left.
  DHPVM_ASSIGN(llvm::BasicBlock * to, connect(level, node, {inside}, /*thins=*/!alone));
  if (writes_exit(outside) || only_returns(outside)) {
    next.edge_variable = new_variable(mask->getType(), "mask");
    builder_.CreateStore(mask, next.edge_variable);
    llvm::BasicBlock* edge = llvm::BasicBlock::Create(result_.getContext(), "leave", &result_);
    const bool is_check = only_returns(outside) ||
                          (branch.hasMetadata(llvm::LLVMContext::MD_prof) && rare_side(&branch) == exit_side);
    builder_.CreateCondBr(
        none_take(level, node, branch, exit_side), to, edge,
        is_check ? llvm::MDBuilder(result_.getContext()).createLikelyBranchWeights() : nullptr);
    builder_.SetInsertPoint(edge);
  }
  llvm::Value* condition = values_.vector(branch.getCondition());
  llvm::Value* staying = widener_.narrow(mask, condition, exit_side != 0);
  next.edge_mask = staying;
  if (next.edge_variable != nullptr) builder_.CreateStore(staying, next.edge_variable);
  write_exit(branch.getParent(), outside, widener_.narrow(mask, condition, exit_side == 0));
  if (alone) {
    builder_.CreateCondBr(widener_.any(staying), to, states_[&level].exit);
  } else {
    builder_.CreateBr(to);
  }
  return {};
}

// The block where control continues from `node` when its lanes go to `targets`: the first in the order among these and
// the pending nodes; the others become pending there. If there are none, every lane has left the loop. `thins`: lanes
// have left it here.
Result<llvm::BasicBlock*> Lineariser::connect(const Level& level, unsigned node,
                                              llvm::ArrayRef<unsigned> targets, bool thins) {
  const NodeState& at = state(level, node);
  llvm::BitVector next = at.pending;
  for (const unsigned target : targets) next.set(target);
  const int first = next.find_first();
  if (first < 0) {
    llvm::BasicBlock* exit = states_[&level].exit;
    if (exit == nullptr) return error(ErrorCode::kInternal, "no way on from a block");
    return exit;
  }
  next.reset(static_cast<unsigned>(first));
  NodeState& to = state(level, static_cast<unsigned>(first));
  to.pending |= next;
  to.thinned |= thins || at.thinned;
  return to.entry;
}

// The lanes of the current block continue at `to` in the same level. A block with several predecessors, and so with
// variables, is the only successor of each.
void Lineariser::write_edge(const llvm::BasicBlock* from, const llvm::BasicBlock* to) {
  const Level& level = regions_.level_of(to);
  const unsigned node = regions_.node_of(to);
  const bool is_header = node == 0 && level.loop != nullptr;
  const bool blends = !is_header && divergence_.joins(level, node);
  llvm::Value* mask = state(regions_.level_of(from), regions_.node_of(from)).mask;
  if (!is_header && needs_mask_variable(level, node)) {
    llvm::AllocaInst* to_mask = mask_variable(level, node);
    llvm::Value* arriving = mask;
    if (blends) arriving = builder_.CreateOr(builder_.CreateLoad(mask->getType(), to_mask), mask);
    builder_.CreateStore(arriving, to_mask);
  }
  for (const llvm::PHINode& phi : to->phis()) {
    if (!needs_variable(phi)) continue;
    const llvm::Value* incoming = phi.getIncomingValueForBlock(from);
    if (divergence_.shape(&phi).is_affine()) {
      builder_.CreateStore(values_.scalar(incoming), variable(phi));
      continue;
    }
    llvm::Value* value = values_.vector(incoming);
    if (blends) value = widener_.blend(mask, value, builder_.CreateLoad(value->getType(), variable(phi)));
    builder_.CreateStore(value, variable(phi));
  }
}

// Whether any values must be saved when lanes leave loops for `to`.
bool Lineariser::writes_exit(const llvm::BasicBlock* to) const {
  if (needs_mask_variable(regions_.level_of(to), regions_.node_of(to))) return true;
  return llvm::any_of(to->phis(), [this](const llvm::PHINode& phi) { return needs_variable(phi); });
}

// The lanes of `mask` leave loops for `to` and wait there for the others: saves their live values of this iteration.
void Lineariser::write_exit(const llvm::BasicBlock* from, const llvm::BasicBlock* to, llvm::Value* mask) {
  const Level& level = regions_.level_of(to);
  const unsigned node = regions_.node_of(to);
  if (needs_mask_variable(level, node)) {
    llvm::AllocaInst* waiting = mask_variable(level, node);
    builder_.CreateStore(builder_.CreateOr(builder_.CreateLoad(mask->getType(), waiting), mask), waiting);
  }
  for (const llvm::PHINode& phi : to->phis()) {
    if (!needs_variable(phi)) continue;
    if (divergence_.shape(&phi).is_affine()) {
      // The loop ends here.
      builder_.CreateStore(values_.scalar(phi.getIncomingValueForBlock(from)), variable(phi));
      continue;
    }
    llvm::Value* value = values_.vector(phi.getIncomingValueForBlock(from));
    llvm::Value* before = builder_.CreateLoad(value->getType(), variable(phi));
    builder_.CreateStore(widener_.blend(mask, value, before), variable(phi));
  }
}

}  // namespace dhpvm::codegen::spmd
