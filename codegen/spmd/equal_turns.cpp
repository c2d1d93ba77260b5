// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/equal_turns.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/second_body.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::MinMaxIntrinsic;
using llvm::Value;

// Whether an exit of a loop depends on `value`.
bool decides_about_turns(const Value& value, const llvm::LoopInfo& loops) {
  llvm::SmallVector<const Value*, 16> work{&value};
  llvm::SmallPtrSet<const Value*, 16> seen;
  while (!work.empty()) {
    const Value* const from = work.pop_back_val();
    if (!seen.insert(from).second) continue;
    for (const llvm::User* user : from->users()) {
      const auto* const next = llvm::cast<llvm::Instruction>(user);
      const llvm::Loop* const loop = loops.getLoopFor(next->getParent());
      if (llvm::isa<llvm::BranchInst>(next) && loop != nullptr && loop->isLoopExiting(next->getParent()))
        return true;
      if (!next->mayReadOrWriteMemory()) work.push_back(next);
    }
  }
  return false;
}

// A minimum, and its most frequent operand.
struct SharedLimit {
  MinMaxIntrinsic* limit = nullptr;
  Value* shared = nullptr;
};

SharedLimit find_limit(llvm::Function& function, const std::vector<ArgShape>& args) {
  LoopAnalyses analyses(function, args);
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* const limit = llvm::dyn_cast<MinMaxIntrinsic>(&instruction);
    if (limit == nullptr || !limit->getType()->isIntegerTy()) continue;
    const bool is_left = analyses.divergence.shape(limit->getLHS()).is_uniform();
    if (is_left == analyses.divergence.shape(limit->getRHS()).is_uniform()) continue;
    if (decides_about_turns(*limit, analyses.loops))
      return {.limit = limit, .shared = is_left ? limit->getLHS() : limit->getRHS()};
  }
  return {};
}

}  // namespace

bool split_equal_turns(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  if (scalar.getInstructionCount() > kThresholds.second_body) return false;
  const auto [limit, shared] = find_limit(scalar, args);
  if (limit == nullptr) return false;
  BasicBlock& entry = scalar.getEntryBlock();
  BasicBlock* const different = llvm::SplitBlock(&entry, limit->getNextNode());
  llvm::SmallVector<BasicBlock*, 16> blocks;
  for (BasicBlock& block : scalar) {
    if (&block != &entry) blocks.push_back(&block);
  }
  // Both bodies share local arrays.
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(*different)) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(limit);
  }
  llvm::ValueToValueMapTy copies;
  copies[limit] = shared;
  const auto copied = copy_blocks(blocks, "equal", copies);
  entry.getTerminator()->eraseFromParent();
  llvm::IRBuilder<> b(&entry);
  llvm::FunctionCallee in_all_lanes = scalar.getParent()->getOrInsertFunction(
      kInAllLanes, llvm::FunctionType::get(b.getInt1Ty(), {b.getInt1Ty()}, /*isVarArg=*/false));
  Value* const equal = b.CreateCall(in_all_lanes, {b.CreateICmpEQ(limit, shared)});
  b.CreateCondBr(equal, copied.front(), different,
                 llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  bring_into_form(scalar);
  return true;
}

}  // namespace dhpvm::codegen::spmd
