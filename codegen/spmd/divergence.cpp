// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/divergence.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

Shape shape_of_argument(ArgShape shape) {
  switch (shape) {
    case ArgShape::kUniform: return Shape::uniform();
    case ArgShape::kLaneIndex: return Shape::affine(1);
    case ArgShape::kVarying: break;
  }
  return Shape::varying();
}

bool has_same_values(const llvm::PHINode& phi) {
  for (const llvm::Value* value : phi.incoming_values()) {
    if (value != phi.getIncomingValue(0)) return false;
  }
  return true;
}

}  // namespace

Divergence::Divergence(llvm::Function& function, const Regions& regions, const std::vector<ArgShape>& args)
    : function_(function), regions_(regions) {
  for (llvm::Argument& argument : function.args()) {
    shapes_[&argument] = shape_of_argument(args[argument.getArgNo()]);
  }
  // Optimistic: everything is uniform until there is a reason for divergence, and reasons are only added. Control flow
  // depends on shapes (which branches split) and shapes on control flow (the operand of a phi).
  do {
    update_control();
  } while (update_shapes());
}

Shape Divergence::shape(const llvm::Value* value) const {
  if (llvm::isa<llvm::Constant>(value)) return Shape::uniform();
  return shapes_.lookup(value);
}

bool Divergence::update_shapes() {
  const auto lookup = [this](const llvm::Value* value) { return shape(value); };
  bool any_change = false;
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock* block : order) {
      for (llvm::Instruction& instruction : *block) {
        if (instruction.getType()->isVoidTy()) continue;
        const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
        const Shape found = phi != nullptr ? phi_shape(*phi) : transfer(instruction, lookup);
        // Joined with its previous shape: the fixpoint iteration is monotonic.
        Shape& known = shapes_[&instruction];
        const Shape updated = known.join(found);
        if (updated == known) continue;
        known = updated;
        changed = true;
      }
    }
    any_change |= changed;
  }
  return any_change;
}

Shape Divergence::phi_shape(const llvm::PHINode& phi) const {
  const llvm::BasicBlock* block = phi.getParent();
  const Level& level = regions_.level_of(block);
  const unsigned node = regions_.node_of(block);
  const bool is_header = node == 0 && level.loop != nullptr;
  // In the header, all lanes that are still active have made the same number of iterations, whichever exit they will
  // take.
  if (!is_header && joins(level, node) && !has_same_values(phi)) return Shape::varying();
  Shape result;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    const llvm::Value* value = phi.getIncomingValue(i);
    const llvm::BasicBlock* from = phi.getIncomingBlock(i);
    if (!is_header && outlives(value, from, block) && !ends_loop(from, block)) return Shape::varying();
    result = result.join(shape(value));
  }
  return result;
}

bool Divergence::outlives(const llvm::Value* value, const llvm::BasicBlock* from,
                          const llvm::BasicBlock* to) const {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return false;
  const Level& outside = regions_.level_of(to);
  for (const Level* level = &regions_.level_of(from); level != &outside && level->loop != nullptr;
       level = level->parent) {
    if (level->loop->contains(to)) break;
    if (diverges(*level) && level->loop->contains(instruction)) return true;
  }
  return false;
}

bool Divergence::ends_loop(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const {
  const Level& level = regions_.level_of(from);
  // Enclosing loops may continue with lanes that are not here.
  if (level.loop == nullptr || level.parent != &regions_.level_of(to)) return false;
  // Every lane passes this node in each iteration, and all lanes that do take the same edge.
  const unsigned node = regions_.node_of(from);
  return !splits(level, node) &&
         level.dominates(node, regions_.node_within(level, level.loop->getLoopLatch()));
}

bool Divergence::leaves_diverging_loop(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const {
  for (const Level* level = &regions_.level_of(from); level->loop != nullptr && !level->loop->contains(to);
       level = level->parent) {
    if (diverges(*level)) return true;
  }
  return false;
}

void Divergence::update_control() {
  for (const auto& level : regions_.levels()) {
    Facts facts;
    const auto count = static_cast<unsigned>(level->nodes.size());
    facts.splits.resize(count);
    facts.joins.resize(count);
    facts.apart.assign(count, llvm::BitVector(count));
    find_splits(*level, facts);
    for (const unsigned node : facts.splits.set_bits()) spread(*level, node, facts);
    facts.diverges = level->loop != nullptr && leaves_apart(*level, facts);
    facts_[level.get()] = std::move(facts);
  }
}

void Divergence::find_splits(const Level& level, Facts& facts) const {
  for (unsigned node = 0; node < level.nodes.size(); ++node) {
    const Node& at = level.nodes[node];
    if (at.inner != nullptr) {
      if (diverges(*at.inner) && at.inner->exits.size() > 1) facts.splits.set(node);
      continue;
    }
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(at.block->getTerminator());
    if (branch == nullptr || branch->isUnconditional()) continue;
    const Shape condition = shape(branch->getCondition());
    if (condition.is_known() && !condition.is_uniform()) facts.splits.set(node);
  }
}

// Finds the nodes between a split and the node where all its paths rejoin, and which of these, including that node,
// several paths reach.
void Divergence::spread(const Level& level, unsigned node, Facts& facts) const {
  const unsigned end = level.nodes[node].post_dominator;
  llvm::BitVector reached_before(static_cast<unsigned>(level.nodes.size()));
  for (const unsigned way : level.nodes[node].successors) {
    llvm::BitVector reached(reached_before.size());
    llvm::SmallVector<unsigned, 16> work{way};
    while (!work.empty()) {
      const unsigned at = work.pop_back_val();
      if (reached.test(at)) continue;
      reached.set(at);
      if (at == end) continue;
      facts.apart[at].set(node);
      work.append(level.nodes[at].successors);
    }
    llvm::BitVector twice = reached;
    twice &= reached_before;
    for (const unsigned at : twice.set_bits()) {
      // If the nearest dominator is after the split, all paths from the split to here pass it.
      const Node& join = level.nodes[at];
      if (join.predecessors.size() > 1 && level.dominates(join.dominator, node)) facts.joins.set(at);
    }
    reached_before |= reached;
  }
}

// Whether some lanes may leave the loop while others stay: by a divergent branch, or by a uniform one that not all of
// them reach.
bool Divergence::leaves_apart(const Level& level, const Facts& facts) const {
  for (unsigned node = 0; node < level.nodes.size(); ++node) {
    const Node& at = level.nodes[node];
    if (at.inner != nullptr) {
      const bool leaves = at.leaves;
      if (leaves && (diverges(*at.inner) || facts.apart[node].any())) return true;
      continue;
    }
    if (!at.leaves || at.block->getTerminator()->getNumSuccessors() < 2) continue;
    if (facts.splits.test(node) || facts.apart[node].any()) return true;
  }
  return false;
}

}  // namespace dhpvm::codegen::spmd
