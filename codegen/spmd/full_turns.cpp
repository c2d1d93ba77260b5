// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/full_turns.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <string>
#include <utility>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/second_body.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// A loop, and how often all of its lanes take the back edge.
struct Split {
  llvm::SmallVector<BasicBlock*, 8> blocks;  // the header first
  BasicBlock* before = nullptr;
  BasicBlock* latch = nullptr;
  BasicBlock* exiting = nullptr;
  BasicBlock* inside = nullptr;  // where it continues in the loop
  Value* least = nullptr;
};

// The function's second body is for the frequent case, and the first for the rest.
const BasicBlock* rare_body(const llvm::Function& function) {
  const llvm::Instruction* const end = function.getEntryBlock().getTerminator();
  const std::optional<unsigned> side =
      end->hasMetadata(llvm::LLVMContext::MD_prof) ? rare_side(end) : std::nullopt;
  return side ? end->getSuccessor(*side) : nullptr;
}

// How often a lane takes the back edge; null if that is unknown at the loop's start, or uniform.
const llvm::SCEV* turns_of(llvm::Loop& loop, LoopAnalyses& analyses) {
  if (!loop.isInnermost() || loop.getLoopPreheader() == nullptr || loop.getLoopLatch() == nullptr)
    return nullptr;
  if (loop.getExitingBlock() == nullptr) return nullptr;
  if (!analyses.divergence.diverges(analyses.regions.level_of(loop.getHeader()))) return nullptr;
  const BasicBlock* const rare = rare_body(*loop.getHeader()->getParent());
  if (rare != nullptr && analyses.dominators.dominates(rare, loop.getHeader())) return nullptr;
  const llvm::SCEV* const turns = analyses.evolution.getBackedgeTakenCount(&loop);
  const auto is_dear = [](const llvm::SCEV* part) { return llvm::isa<llvm::SCEVUDivExpr>(part); };
  const bool is_known = !llvm::isa<llvm::SCEVCouldNotCompute>(turns) && turns->getType()->isIntegerTy();
  return is_known && !llvm::SCEVExprContains(turns, is_dear) ? turns : nullptr;
}

Value* least_in_lanes(llvm::IRBuilder<>& b, Value* value) {
  llvm::Type* const type = value->getType();
  llvm::AttrBuilder attributes(b.getContext());
  attributes.addMemoryAttr(llvm::MemoryEffects::none())
      .addAttribute(llvm::Attribute::WillReturn)
      .addAttribute(llvm::Attribute::NoUnwind);
  const auto list = llvm::AttributeList::get(b.getContext(), llvm::AttributeList::FunctionIndex, attributes);
  const std::string name = std::string(kLeastInLanes) + ".i" + std::to_string(type->getIntegerBitWidth());
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  return b.CreateCall(module.getOrInsertFunction(name, llvm::FunctionType::get(type, {type}, false), list),
                      {value});
}

std::vector<Split> find_splits(llvm::Function& function, const std::vector<ArgShape>& args) {
  LoopAnalyses analyses(function, args);
  llvm::SCEVExpander expander(analyses.evolution, function.getParent()->getDataLayout(), "turns");
  std::vector<Split> splits;
  for (llvm::Loop* const loop : analyses.loops.getLoopsInPreorder()) {
    const llvm::SCEV* const turns = turns_of(*loop, analyses);
    if (turns == nullptr) continue;
    llvm::Instruction* const end = loop->getLoopPreheader()->getTerminator();
    if (!expander.isSafeToExpandAt(turns, end)) continue;
    llvm::IRBuilder<> b(end);
    Value* const least = least_in_lanes(b, expander.expandCodeFor(turns, turns->getType(), end));
    BasicBlock* const exiting = loop->getExitingBlock();
    BasicBlock* const side = exiting->getTerminator()->getSuccessor(0);
    splits.push_back({.blocks = {loop->block_begin(), loop->block_end()},
                      .before = loop->getLoopPreheader(),
                      .latch = loop->getLoopLatch(),
                      .exiting = exiting,
                      .inside = loop->contains(side) ? side : exiting->getTerminator()->getSuccessor(1),
                      .least = least});
  }
  return splits;
}

// Runs `split.least` turns in a copy before the loop: at most as many as each lane has back edges, so that each has at
// least one turn left for the loop itself, where the lanes leave.
void put_copy_in_front(const Split& split) {
  BasicBlock* const header = split.blocks.front();
  llvm::ValueToValueMapTy copies;
  const auto copied = copy_blocks(split.blocks, "full", copies);
  auto* const latch = llvm::cast<BasicBlock>(copies[split.latch]);
  BasicBlock* const rest = BasicBlock::Create(header->getContext(), "rest", header->getParent(), header);
  llvm::IRBuilder<> b(rest);
  for (llvm::PHINode& phi : header->phis()) {
    Value* const first = phi.getIncomingValueForBlock(split.before);
    Value* const next = phi.getIncomingValueForBlock(split.latch);
    Value* const copy = copies.lookup(next);
    llvm::PHINode* const handed_on = b.CreatePHI(phi.getType(), 2);
    handed_on->addIncoming(first, split.before);
    handed_on->addIncoming(copy == nullptr ? next : copy, latch);
    phi.setIncomingValueForBlock(split.before, handed_on);
    phi.replaceIncomingBlockWith(split.before, rest);
  }
  b.CreateBr(header);
  split.before->getTerminator()->eraseFromParent();
  b.SetInsertPoint(split.before);
  llvm::Constant* const none = llvm::Constant::getNullValue(split.least->getType());
  b.CreateCondBr(b.CreateICmpEQ(split.least, none), rest, copied.front());
  b.SetInsertPoint(copied.front(), copied.front()->begin());
  llvm::PHINode* const done = b.CreatePHI(none->getType(), 2);
  auto* const exiting = llvm::cast<BasicBlock>(copies[split.exiting]);
  llvm::ReplaceInstWithInst(exiting->getTerminator(),
                            llvm::BranchInst::Create(llvm::cast<BasicBlock>(copies[split.inside])));
  latch->getTerminator()->eraseFromParent();
  b.SetInsertPoint(latch);
  Value* const next = b.CreateAdd(done, llvm::ConstantInt::get(none->getType(), 1));
  done->addIncoming(none, split.before);
  done->addIncoming(next, latch);
  b.CreateCondBr(b.CreateICmpULT(next, split.least), copied.front(), rest);
}

}  // namespace

llvm::Function* split_full_turns(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  if (scalar.getInstructionCount() > kThresholds.second_body) return nullptr;
  {
    LoopAnalyses analyses(scalar, args);
    const auto is_split = [&](llvm::Loop* loop) { return turns_of(*loop, analyses) != nullptr; };
    if (llvm::none_of(analyses.loops.getLoopsInPreorder(), is_split)) return nullptr;
  }
  llvm::ValueToValueMapTy copies;
  llvm::Function* const made = llvm::CloneFunction(&scalar, copies);
  for (const Split& split : find_splits(*made, args)) put_copy_in_front(split);
  bring_into_form(*made);
  return made;
}

}  // namespace dhpvm::codegen::spmd
