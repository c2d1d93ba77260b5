// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/joined_stores.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::StoreInst;
using llvm::Value;

// The limit of operations that compute the address from values before the branch: the element, its index, the array's
// data.
constexpr unsigned kMostOperations = 4;

bool reads_or_writes(const Instruction& instruction) {
  return instruction.mayReadOrWriteMemory() && !instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
}

// The last store of the block, if no later instruction in it could observe the difference.
StoreInst* last_store(BasicBlock& block) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (branch == nullptr || branch->isConditional()) return nullptr;
  for (Instruction& instruction : llvm::reverse(block)) {
    if (instruction.isTerminator()) continue;
    if (auto* store = llvm::dyn_cast<StoreInst>(&instruction)) return store->isSimple() ? store : nullptr;
    if (reads_or_writes(instruction) || !llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction))
      return nullptr;
  }
  return nullptr;
}

class StoreJoiner {
 public:
  explicit StoreJoiner(llvm::Function& function) : dominators_(function) {}

  // Returns whether it changed anything.
  bool join_into(BasicBlock& block) {
    llvm::SmallVector<StoreInst*, 4> stores;
    for (BasicBlock* from : llvm::predecessors(&block)) {
      if (dominators_.dominates(&block, from)) return false;
      StoreInst* const store = last_store(*from);
      if (store != nullptr && (stores.empty() || is_alike(*store, *stores[0], block)))
        stores.push_back(store);
    }
    if (stores.size() < 2) return false;
    replace(stores, join_of(stores, block));
    return true;
  }

 private:
  bool is_alike(const StoreInst& one, const StoreInst& other, const BasicBlock& join) const {
    return one.getValueOperand()->getType() == other.getValueOperand()->getType() &&
           is_same(one.getPointerOperand(), other.getPointerOperand(), join, kMostOperations);
  }

  // Whether both are equal at `join`: available there already, or computed alike from available values.
  bool is_same(const Value* one, const Value* other, const BasicBlock& join, unsigned most) const {
    const auto* instruction = llvm::dyn_cast<Instruction>(one);
    if (instruction == nullptr || dominates(*instruction, join)) return one == other;
    const auto* twin = llvm::dyn_cast<Instruction>(other);
    if (most == 0 || twin == nullptr || !instruction->isSameOperationAs(twin)) return false;
    if (llvm::isa<llvm::PHINode, llvm::AllocaInst, llvm::CallBase>(instruction)) return false;
    if (reads_or_writes(*instruction) || reads_or_writes(*twin)) return false;
    return llvm::all_of(llvm::zip(instruction->operands(), twin->operands()), [&](const auto& pair) {
      return is_same(std::get<0>(pair), std::get<1>(pair), join, most - 1);
    });
  }

  bool dominates(const Instruction& instruction, const BasicBlock& join) const {
    return dominators_.properlyDominates(instruction.getParent(), &join);
  }

  // The block to which only the stores lead.
  BasicBlock& join_of(llvm::ArrayRef<StoreInst*> stores, BasicBlock& block) {
    if (block.hasNPredecessors(static_cast<unsigned>(stores.size()))) return block;
    llvm::SmallVector<BasicBlock*, 4> from;
    for (const StoreInst* store : stores) from.push_back(const_cast<BasicBlock*>(store->getParent()));
    return *llvm::SplitBlockPredecessors(&block, from, ".stored", &dominators_);
  }

  void replace(llvm::ArrayRef<StoreInst*> stores, BasicBlock& join) {
    StoreInst& first = *stores[0];
    llvm::IRBuilder<> builder(&join, join.begin());
    Value* const value_of_first = first.getValueOperand();
    llvm::PHINode* const value =
        builder.CreatePHI(value_of_first->getType(), static_cast<unsigned>(stores.size()));
    builder.SetInsertPoint(&join, join.getFirstInsertionPt());
    auto* const made = llvm::cast<StoreInst>(first.clone());
    made->setOperand(0, value);
    made->setOperand(1, copy_of(first.getPointerOperand(), join, builder));
    builder.Insert(made);
    for (StoreInst* store : stores) {
      value->addIncoming(store->getValueOperand(), store->getParent());
      made->setAlignment(std::min(made->getAlign(), store->getAlign()));
      if (store != &first) llvm::combineMetadataForCSE(made, store, /*DoesKMove=*/true);
    }
    for (StoreInst* store : stores) {
      Value* const address = store->getPointerOperand();
      store->eraseFromParent();
      llvm::RecursivelyDeleteTriviallyDeadInstructions(address);
    }
  }

  // The value at `join`, recomputed if it is not available there.
  Value* copy_of(Value* value, const BasicBlock& join, llvm::IRBuilder<>& builder) const {
    auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr || dominates(*instruction, join)) return value;
    Instruction* const made = instruction->clone();
    for (llvm::Use& operand : made->operands()) operand.set(copy_of(operand.get(), join, builder));
    // The other copies' flags may be weaker.
    made->dropPoisonGeneratingFlags();
    builder.Insert(made);
    return made;
  }

  llvm::DominatorTree dominators_;
};

}  // namespace

void join_stores(llvm::Function& function) {
  StoreJoiner joiner(function);
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock& block : llvm::make_early_inc_range(function)) changed |= joiner.join_into(block);
  }
}

}  // namespace dhpvm::codegen::spmd
