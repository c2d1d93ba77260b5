// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/chosen_loads.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/spmd/divergence.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

// `clamp` is two nested selects.
constexpr unsigned kNested = 2;

// A load, the instructions that compute its address from the select, phi or minimum, and that choice.
struct ChosenLoad {
  llvm::LoadInst* load = nullptr;
  llvm::SmallVector<llvm::Instruction*, 4> arithmetic;
  llvm::Instruction* choice = nullptr;
};

// The alternatives of a phi, a select, or a minimum or maximum.
llvm::SmallVector<llvm::Value*, 2> ways_of(const llvm::Instruction& choice) {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&choice)) {
    llvm::SmallVector<llvm::Value*, 2> values;
    for (const llvm::Use& value : phi->incoming_values()) values.push_back(value.get());
    return values;
  }
  if (llvm::isa<llvm::SelectInst>(choice)) return {choice.getOperand(1), choice.getOperand(2)};
  if (const auto* extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&choice))
    return {extreme->getLHS(), extreme->getRHS()};
  return {};
}

bool is_step(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::GetElementPtrInst>(instruction) ||
         instruction.getOpcode() == llvm::Instruction::Add ||
         instruction.getOpcode() == llvm::Instruction::Sub;
}

// Walks from the load's address to its operands while exactly one operand is varying.
ChosenLoad find_choice(llvm::LoadInst& load, const Divergence& divergence) {
  ChosenLoad found;
  found.load = &load;
  auto* at = llvm::dyn_cast<llvm::Instruction>(load.getPointerOperand());
  while (at != nullptr && ways_of(*at).empty() && is_step(*at)) {
    found.arithmetic.insert(found.arithmetic.begin(), at);
    llvm::Value* varying = nullptr;
    for (llvm::Value* operand : at->operands()) {
      if (divergence.shape(operand).is_affine()) continue;
      if (varying != nullptr) return found;
      varying = operand;
    }
    at = llvm::dyn_cast_or_null<llvm::Instruction>(varying);
  }
  if (at != nullptr && !ways_of(*at).empty()) found.choice = at;
  return found;
}

// Whether the load can be moved to the predecessors of its phi.
bool can_move(const ChosenLoad& chosen, const llvm::PHINode& phi) {
  const llvm::BasicBlock* block = chosen.load->getParent();
  if (phi.getParent() != block || !phi.hasOneUse()) return false;
  for (const llvm::Instruction* step : chosen.arithmetic) {
    if (step->getParent() != block || !step->hasOneUse()) return false;
    for (const llvm::Value* operand : step->operands()) {
      const auto* computed = llvm::dyn_cast<llvm::Instruction>(operand);
      if (computed != nullptr && computed->getParent() == block && computed != &phi &&
          !llvm::is_contained(chosen.arithmetic, computed)) {
        return false;
      }
    }
  }
  // There must be no write between the edge and the load.
  for (const llvm::Instruction* at = chosen.load->getPrevNode(); at != nullptr; at = at->getPrevNode()) {
    if (at->mayWriteToMemory() || !llvm::isGuaranteedToTransferExecutionToSuccessor(at)) return false;
  }
  return true;
}

// The shape of the load's address if the choice had the shape `shape`.
Shape address_shape(const ChosenLoad& chosen, Shape shape, const Divergence& divergence) {
  const llvm::Value* address = chosen.choice;
  for (const llvm::Instruction* step : chosen.arithmetic) {
    shape = transfer(*step, [&](const llvm::Value* operand) {
      return operand == address ? shape : divergence.shape(operand);
    });
    address = step;
  }
  return shape;
}

// Whether the load with `value` as its choice is a vector or a scalar, or can be made so.
bool is_cheap(const ChosenLoad& chosen, const llvm::Value* value, const Divergence& divergence,
              unsigned nested) {
  const llvm::DataLayout& layout = chosen.load->getDataLayout();
  const auto bytes =
      static_cast<std::int64_t>(layout.getTypeStoreSize(chosen.load->getType()).getFixedValue());
  const Shape shape = address_shape(chosen, divergence.shape(value), divergence);
  if (shape.is_uniform() || shape == Shape::affine(bytes) || shape == Shape::affine(-bytes)) return true;
  const auto* inner = llvm::dyn_cast<llvm::Instruction>(value);
  if (nested == 0 || inner == nullptr || llvm::isa<llvm::PHINode>(inner)) return false;
  const auto ways = ways_of(*inner);
  return !ways.empty() && llvm::all_of(ways, [&](const llvm::Value* way) {
    return is_cheap(chosen, way, divergence, nested - 1);
  });
}

bool is_mixed(const ChosenLoad& chosen) {
  const bool any_private = llvm::any_of(ways_of(*chosen.choice),
                                        [](const llvm::Value* way) { return private_base(way) != nullptr; });
  return any_private && private_base(chosen.choice) == nullptr;
}

bool should_split(const ChosenLoad& chosen, const Divergence& divergence, const llvm::LoopInfo& loops) {
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(chosen.choice);
  if (phi != nullptr && !can_move(chosen, *phi)) return false;
  if (phi != nullptr && is_mixed(chosen)) return true;
  if (private_base(chosen.load->getPointerOperand()) != nullptr) return false;
  if (!divergence.shape(chosen.load->getPointerOperand()).is_varying()) return false;
  const bool cheap = llvm::all_of(ways_of(*chosen.choice), [&](const llvm::Value* way) {
    return is_cheap(chosen, way, divergence, phi == nullptr ? kNested - 1 : 0);
  });
  if (phi == nullptr || !cheap) return cheap;
  // After a loop or at its header, a predecessor does not run once for each execution of the load.
  const llvm::Loop* loop = loops.getLoopFor(phi->getParent());
  if (loop != nullptr && loop->getHeader() == phi->getParent()) return false;
  return llvm::all_of(phi->blocks(),
                      [&](const llvm::BasicBlock* from) { return loops.getLoopFor(from) == loop; });
}

// A copy of the load before `end`, with `value` in place of the choice.
llvm::Value* load_of(const ChosenLoad& chosen, llvm::Value* value, llvm::Instruction* end) {
  llvm::Value* original = chosen.choice;
  const auto copy = [&](llvm::Instruction& instruction) {
    llvm::Instruction* made = instruction.clone();
    made->replaceUsesOfWith(original, value);
    made->insertBefore(end);
    original = &instruction;
    value = made;
  };
  for (llvm::Instruction* step : chosen.arithmetic) copy(*step);
  copy(*chosen.load);
  return value;
}

void move_into_predecessors(const ChosenLoad& chosen, llvm::PHINode& choice, llvm::PHINode& values) {
  for (unsigned way = 0; way < choice.getNumIncomingValues(); ++way) {
    llvm::BasicBlock* from = choice.getIncomingBlock(way);
    values.addIncoming(load_of(chosen, choice.getIncomingValue(way), from->getTerminator()), from);
  }
}

// Replaces a select, a minimum or a maximum by a branch. A uniform operand is assumed to be rare: it replaces indices
// beyond an edge.
void branch_before(const ChosenLoad& chosen, bool is_rare[2], llvm::PHINode*& values) {
  llvm::IRBuilder<> builder(chosen.load);
  llvm::Value* condition = nullptr;
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(chosen.choice)) {
    condition = select->getCondition();
  } else {
    const auto* extreme = llvm::cast<llvm::MinMaxIntrinsic>(chosen.choice);
    condition = builder.CreateICmp(extreme->getPredicate(), extreme->getLHS(), extreme->getRHS());
  }
  llvm::MDNode* weights = nullptr;
  if (is_rare[0] != is_rare[1]) {
    llvm::MDBuilder metadata(condition->getContext());
    weights = is_rare[0] ? metadata.createUnlikelyBranchWeights() : metadata.createLikelyBranchWeights();
  }
  llvm::Instruction* ends[2] = {nullptr, nullptr};
  llvm::SplitBlockAndInsertIfThenElse(condition, chosen.load->getIterator(), &ends[0], &ends[1], weights);
  values = llvm::PHINode::Create(chosen.load->getType(), 2, "", chosen.load->getParent()->begin());
  const auto ways = ways_of(*chosen.choice);
  for (unsigned way = 0; way < 2; ++way)
    values->addIncoming(load_of(chosen, ways[way], ends[way]), ends[way]->getParent());
}

// Returns whether it changed anything.
bool split_once(llvm::Function& function, const std::vector<ArgShape>& args) {
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  const Regions regions(function, loops);
  const Divergence divergence(function, regions, args);
  llvm::SmallVector<ChosenLoad, 4> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || !load->isSimple()) continue;
    ChosenLoad chosen = find_choice(*load, divergence);
    if (chosen.choice != nullptr && should_split(chosen, divergence, loops))
      found.push_back(std::move(chosen));
  }
  for (const ChosenLoad& chosen : found) {
    llvm::PHINode* values = nullptr;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(chosen.choice)) {
      values =
          llvm::PHINode::Create(chosen.load->getType(), phi->getNumIncomingValues(), "", phi->getIterator());
      move_into_predecessors(chosen, *phi, *values);
    } else {
      const auto ways = ways_of(*chosen.choice);
      bool is_rare[2];
      for (unsigned way = 0; way < 2; ++way) is_rare[way] = divergence.shape(ways[way]).is_uniform();
      branch_before(chosen, is_rare, values);
    }
    values->takeName(chosen.load);
    chosen.load->replaceAllUsesWith(values);
    llvm::Value* address = chosen.load->getPointerOperand();
    chosen.load->eraseFromParent();
    llvm::RecursivelyDeleteTriviallyDeadInstructions(address);
  }
  return !found.empty();
}

}  // namespace

void split_chosen_loads(llvm::Function& function, const std::vector<ArgShape>& args) {
  for (unsigned round = 0; round <= kNested && split_once(function, args); ++round) {
  }
}

}  // namespace dhpvm::codegen::spmd
