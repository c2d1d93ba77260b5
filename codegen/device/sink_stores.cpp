// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/sink_stores.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::StoreInst;

// Whether a branch jumps over the block with the store and a value that depends on the branch is live after it: that
// value needs a select anyway, so that without the store no branch is needed. A branch for the store alone costs less
// than carrying its value through the loop.
bool is_beside_a_choice(const StoreInst& store) {
  const BasicBlock* const block = store.getParent();
  const BasicBlock* const before = block->getSinglePredecessor();
  const BasicBlock* const after = block->getSingleSuccessor();
  if (before == nullptr || after == nullptr || !llvm::is_contained(llvm::successors(before), after))
    return false;
  return llvm::any_of(after->phis(), [&](const llvm::PHINode& phi) {
    return phi.getIncomingValueForBlock(block) != phi.getIncomingValueForBlock(before);
  });
}

// A loop, and the transformation of its stores.
class Sinker {
 public:
  Sinker(llvm::Loop& loop, llvm::AAResults& aliases) : loop_(loop), aliases_(aliases) {}

  // The stores to sink, with distinct addresses.
  llvm::SmallVector<StoreInst*> candidates() const {
    llvm::SmallVector<StoreInst*> found;
    if (loop_.getLoopPreheader() == nullptr || !loop_.hasDedicatedExits() || loop_.hasNoExitBlocks())
      return found;
    for (BasicBlock* const block : loop_.blocks()) {
      for (Instruction& instruction : *block) {
        // Barriers, fences, and accesses whose order others can observe.
        if (instruction.isAtomic() || instruction.isVolatile()) return {};
        if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            call != nullptr && (call->isConvergent() || call->mayWriteToMemory()))
          return {};
        if (auto* const store = llvm::dyn_cast<StoreInst>(&instruction)) found.push_back(store);
      }
    }
    llvm::erase_if(found, [this](StoreInst* store) {
      return !loop_.isLoopInvariant(store->getPointerOperand()) || !is_beside_a_choice(*store) ||
             is_shared(*store);
    });
    return found;
  }

  // Adds to `variables` those that become registers.
  void sink(StoreInst& store, llvm::DomTreeUpdater& updater, llvm::LoopInfo& loops,
            llvm::SmallVectorImpl<llvm::AllocaInst*>& variables) {
    BasicBlock& entry = store.getFunction()->getEntryBlock();
    llvm::IRBuilder<> b(&entry, entry.begin());
    llvm::AllocaInst* const value = b.CreateAlloca(store.getValueOperand()->getType());
    llvm::AllocaInst* const stored = b.CreateAlloca(b.getInt1Ty());
    variables.append({value, stored});
    b.SetInsertPoint(loop_.getLoopPreheader()->getTerminator());
    b.CreateStore(llvm::Constant::getNullValue(value->getAllocatedType()), value);
    b.CreateStore(b.getFalse(), stored);
    llvm::SmallVector<BasicBlock*> exits;
    loop_.getUniqueExitBlocks(exits);
    for (BasicBlock* const exit : exits) {
      b.SetInsertPoint(exit, exit->getFirstInsertionPt());
      llvm::Value* const is_stored = b.CreateLoad(b.getInt1Ty(), stored);
      Instruction* const last =
          llvm::SplitBlockAndInsertIfThen(is_stored, b.GetInsertPoint(), /*Unreachable=*/false,
                                          /*BranchWeights=*/nullptr, &updater, &loops);
      b.SetInsertPoint(last);
      llvm::StoreInst* const outside = b.CreateAlignedStore(b.CreateLoad(value->getAllocatedType(), value),
                                                            store.getPointerOperand(), store.getAlign());
      outside->copyMetadata(store);
    }
    b.SetInsertPoint(&store);
    b.CreateStore(store.getValueOperand(), value);
    b.CreateStore(b.getTrue(), stored);
    store.eraseFromParent();
  }

 private:
  // Whether another access in the loop may alias the store.
  bool is_shared(const StoreInst& store) const {
    const llvm::MemoryLocation place = llvm::MemoryLocation::get(&store);
    return llvm::any_of(loop_.blocks(), [&](BasicBlock* block) {
      return llvm::any_of(*block, [&](Instruction& other) {
        return &other != &store && other.mayReadOrWriteMemory() &&
               llvm::isModOrRefSet(aliases_.getModRefInfo(&other, place));
      });
    });
  }

  llvm::Loop& loop_;
  llvm::AAResults& aliases_;
};

}  // namespace

llvm::PreservedAnalyses SinkStoresPass::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager& analyses) {
  auto& aliases = analyses.getResult<llvm::AAManager>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  llvm::DomTreeUpdater updater(dominators, llvm::DomTreeUpdater::UpdateStrategy::Eager);
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::SmallVector<llvm::AllocaInst*> variables;
  for (llvm::Loop* const loop : loops.getLoopsInPreorder()) {
    Sinker sinker(*loop, aliases);
    for (StoreInst* const store : sinker.candidates()) sinker.sink(*store, updater, loops, variables);
  }
  if (variables.empty()) return llvm::PreservedAnalyses::all();
  llvm::PromoteMemToReg(variables, dominators);
  return llvm::PreservedAnalyses::none();
}

}  // namespace dhpvm::codegen
