// SPDX-License-Identifier: Apache-2.0
// The order of blocks and their masks; the edges between them are in lineariser_edges.cpp.
#include "codegen/spmd/lineariser.h"

#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "base/error.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

// The least cost of a node and of those that it dominates, in units of cost_of, for which a test whether any lane is
// active pays.
constexpr unsigned kCostOfGuard = 16;

}  // namespace

Lineariser::Lineariser(llvm::Function& scalar, llvm::Function& result, const Regions& regions,
                       const Divergence& divergence, const SpmdOptions& options)
    : scalar_(scalar),
      result_(result),
      regions_(regions),
      divergence_(divergence),
      options_(options),
      width_(options.width),
      builder_(result.getContext()),
      values_(divergence, options.width),
      widener_(scalar, result, divergence, options, values_, builder_) {}

Status Lineariser::run() {
  make_entry();
  for (const auto& level : regions_.levels()) prepare_level(*level);
  const Level& top = regions_.top();
  NodeState& first = state(top, 0);
  llvm::BranchInst* to_first = llvm::BranchInst::Create(first.entry, entry_);
  values_.set_entry(to_first);
  first.mask = root_;
  DHPVM_TRY(emit_level(top));
  promote();
  return {};
}

// The arguments, and the mask of the lanes that are active in the function.
void Lineariser::make_entry() {
  entry_ = llvm::BasicBlock::Create(result_.getContext(), "lanes", &result_);
  builder_.SetInsertPoint(entry_);
  for (llvm::Argument& argument : scalar_.args()) {
    llvm::Argument* made = result_.getArg(argument.getArgNo());
    if (options_.args[argument.getArgNo()] == ArgShape::kVarying) {
      values_.set_vector(&argument, made);
    } else {
      values_.set_scalar(&argument, made);
    }
  }
  root_ = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(builder_.getInt1Ty(), width_));
  if (options_.tail) {
    // Bytes give the narrowest comparison of 64 lanes.
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (unsigned lane = 0; lane < width_; ++lane)
      numbers.push_back(builder_.getInt8(static_cast<std::uint8_t>(lane)));
    llvm::Value* active =
        builder_.CreateTrunc(result_.getArg(static_cast<unsigned>(scalar_.arg_size())), builder_.getInt8Ty());
    root_ = builder_.CreateICmpULT(llvm::ConstantVector::get(numbers),
                                   builder_.CreateVectorSplat(width_, active), "active");
  }
  widener_.set_entry(entry_, root_);
}

void Lineariser::prepare_level(const Level& level) {
  LevelState& made = states_[&level];
  const auto count = static_cast<unsigned>(level.nodes.size());
  made.nodes.resize(count);
  for (unsigned node = 0; node < count; ++node) {
    const llvm::BasicBlock* block = level.nodes[node].block;
    const llvm::Twine name = block != nullptr ? block->getName() : "loop";
    made.nodes[node].entry = llvm::BasicBlock::Create(result_.getContext(), name, &result_);
    made.nodes[node].pending.resize(count);
  }
  if (level.loop != nullptr && divergence_.diverges(level)) {
    made.exit = llvm::BasicBlock::Create(result_.getContext(), "loop.done", &result_);
  }
}

Status Lineariser::emit_level(const Level& level) {
  if (level.loop != nullptr && level.exits.empty()) {
    return error(ErrorCode::kUnsupported, "cannot be vectorised: a loop that nothing leaves");
  }
  for (unsigned node = 0; node < level.nodes.size(); ++node) {
    enter(level, node);
    reset_variables(level, node);
    DHPVM_TRY(level.nodes[node].inner != nullptr ? emit_loop(level, node) : emit_block(level, node));
  }
  return {};
}

Status Lineariser::emit_block(const Level& level, unsigned node) {
  llvm::BasicBlock* block = level.nodes[node].block;
  widener_.set_mask(state(level, node).mask);
  read_phis(level, node);
  for (llvm::Instruction& instruction : *block) {
    if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator()) continue;
    DHPVM_TRY(widener_.emit(instruction));
  }
  return emit_terminator(level, node);
}

Status Lineariser::emit_loop(const Level& level, unsigned node) {
  const Level& inner = *level.nodes[node].inner;
  NodeState& header = state(inner, 0);
  if (divergence_.diverges(inner)) {
    builder_.CreateStore(state(level, node).mask, mask_variable(inner, 0));
  } else {
    header.mask = state(level, node).mask;
  }
  builder_.CreateBr(header.entry);
  DHPVM_TRY(emit_level(inner));
  if (!divergence_.diverges(inner)) return {};
  builder_.SetInsertPoint(states_[&inner].exit);
  llvm::SmallVector<unsigned, 4> targets;
  bool thins = false;
  for (const ExitEdge& exit : inner.exits) {
    const unsigned target = regions_.node_within(level, exit.to);
    if (target == kNoNode) {
      thins = true;
    } else {
      targets.push_back(target);
    }
  }
  DHPVM_ASSIGN(llvm::BasicBlock * next, connect(level, node, targets, thins));
  builder_.CreateBr(next);
  return {};
}

// Starts the node, computes its mask, and branches around the node if no lane is active and that is necessary or pays.
void Lineariser::enter(const Level& level, unsigned node) {
  NodeState& at = state(level, node);
  builder_.SetInsertPoint(at.entry);
  at.mask = find_mask(level, node);
  const bool alone = at.pending.none();
  const unsigned dominator = level.nodes[node].dominator;
  at.occupied = alone && !at.thinned;
  if (dominator != kNoNode && state(level, dominator).mask == at.mask) {
    at.occupied |= state(level, dominator).occupied;
  }
  if (at.occupied && at.shortcut == nullptr) {
    at.thinned = false;
    return;
  }
  if (!alone && at.shortcut == nullptr && !wants_guard(level, node)) return;
  // With nothing pending, no lane is left in the loop; otherwise the pending node comes next. Outside of loops
  // something is always pending: lanes leave a function by its one return.
  llvm::BasicBlock* body = at.shortcut;
  if (body == nullptr) body = llvm::BasicBlock::Create(result_.getContext(), at.entry->getName(), &result_);
  if (at.occupied) {
    builder_.CreateBr(body);
  } else {
    llvm::BasicBlock* around = alone ? states_[&level].exit : connect(level, node, {}).value();
    builder_.CreateCondBr(widener_.any(at.mask), body, around);
  }
  builder_.SetInsertPoint(body);
  if (at.shortcut != nullptr) at.mask = find_mask(level, node);
  at.occupied = true;
  if (alone) at.thinned = false;
}

llvm::Value* Lineariser::find_mask(const Level& level, unsigned node) {
  NodeState& at = state(level, node);
  if (node == 0) {
    if (level.loop == nullptr || !divergence_.diverges(level)) return at.mask;
  } else if (!needs_mask_variable(level, node)) {
    const unsigned dominator = level.nodes[node].dominator;
    const bool together = divergence_.apart(level, node) == divergence_.apart(level, dominator);
    if (together) return state(level, dominator).mask;
    if (at.edge_variable == nullptr) return at.edge_mask;
  }
  llvm::AllocaInst* variable = at.edge_variable != nullptr ? at.edge_variable : mask_variable(level, node);
  return builder_.CreateLoad(variable->getAllocatedType(), variable, "mask");
}

bool Lineariser::needs_mask_variable(const Level& level, unsigned node) const {
  if (node == 0) return level.loop != nullptr && divergence_.diverges(level);
  const Node& at = level.nodes[node];
  if (divergence_.apart(level, node) == divergence_.apart(level, at.dominator)) return false;
  return at.predecessors.size() > 1 || level.nodes[at.predecessors[0]].inner != nullptr;
}

// Whether to branch around a node if no lane is active.
bool Lineariser::wants_guard(const Level& level, unsigned node) const {
  const Node& first = level.nodes[node];
  if (first.inner != nullptr) return true;
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(first.block->getTerminator());
  // A branch on a value that no lane has computed; a loop that might never end.
  if (branch != nullptr && branch->isConditional() && !divergence_.splits(level, node)) return true;
  for (const unsigned next : first.successors) {
    if (level.nodes[next].inner != nullptr) return true;
  }
  for (const llvm::Instruction& instruction : *first.block) {
    if (needs_lanes(instruction, divergence_)) return true;
  }
  if (only_returns(first.block)) return true;
  unsigned cost = 0;
  for (unsigned at = node; at < level.nodes.size() && level.dominates(node, at); ++at) {
    if (level.nodes[at].inner != nullptr) return true;
    for (const llvm::Instruction& instruction : *level.nodes[at].block) {
      cost += cost_of(instruction, divergence_);
      // Without AVX-512, a masked store takes longer than any guard (kThroughput.masked_store_in_256).
      if (options_.vector_bits <= 256 && llvm::isa<llvm::StoreInst>(instruction)) return true;
    }
    if (cost >= kCostOfGuard) return true;
  }
  return false;
}

// If lanes join in a node, each edge blends its values into the variable, which is reset before. The dominator is the
// last node that all of them pass before they diverge.
void Lineariser::reset_variables(const Level& level, unsigned node) {
  for (unsigned other = node + 1; other < level.nodes.size(); ++other) {
    const Node& at = level.nodes[other];
    if (at.dominator != node || at.block == nullptr) continue;
    if (needs_mask_variable(level, other)) {
      llvm::AllocaInst* mask = mask_variable(level, other);
      builder_.CreateStore(llvm::Constant::getNullValue(mask->getAllocatedType()), mask);
    }
    const bool is_exit = level.nodes[at.predecessors[0]].inner != nullptr;
    if (!divergence_.joins(level, other) && !is_exit) continue;
    for (const llvm::PHINode& phi : at.block->phis()) {
      if (!needs_variable(phi)) continue;
      llvm::AllocaInst* made = variable(phi);
      builder_.CreateStore(llvm::PoisonValue::get(made->getAllocatedType()), made);
    }
  }
}

void Lineariser::read_phis(const Level& level, unsigned node) {
  for (const llvm::PHINode& phi : level.nodes[node].block->phis()) {
    if (!needs_variable(phi)) {
      values_.set_alias(&phi, phi.getIncomingValue(0));
      continue;
    }
    llvm::AllocaInst* from = variable(phi);
    llvm::Value* value = builder_.CreateLoad(from->getAllocatedType(), from, phi.getName());
    if (divergence_.shape(&phi).is_affine()) {
      values_.set_scalar(&phi, value);
    } else {
      values_.set_vector(&phi, value);
    }
  }
}

// A phi with one edge is an alias of its value, unless lanes take the edge at different times.
bool Lineariser::needs_variable(const llvm::PHINode& phi) const {
  return phi.getNumIncomingValues() > 1 ||
         divergence_.outlives(phi.getIncomingValue(0), phi.getIncomingBlock(0), phi.getParent());
}

llvm::AllocaInst* Lineariser::variable(const llvm::PHINode& phi) {
  llvm::AllocaInst*& made = phi_variables_[&phi];
  if (made == nullptr) {
    const bool scalar = divergence_.shape(&phi).is_affine();
    llvm::Type* type = phi.getType();
    // An address in a local array is represented by its offset.
    if (type->isPointerTy() && private_base(&phi) != nullptr) type = builder_.getInt64Ty();
    made = new_variable(scalar ? type : widen(type, width_), phi.getName());
  }
  return made;
}

llvm::AllocaInst* Lineariser::mask_variable(const Level& level, unsigned node) {
  llvm::AllocaInst*& made = state(level, node).mask_variable;
  if (made == nullptr) made = new_variable(root_->getType(), "mask");
  return made;
}

llvm::AllocaInst* Lineariser::new_variable(llvm::Type* type, const llvm::Twine& name) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  variables_.push_back(at_entry.CreateAlloca(type, nullptr, name));
  return variables_.back();
}

void Lineariser::promote() {
  llvm::DominatorTree dominators(result_);
  llvm::PromoteMemToReg(variables_, dominators);
}

}  // namespace dhpvm::codegen::spmd
