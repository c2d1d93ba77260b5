// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/unroll_loops.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>
#include <llvm/Transforms/Utils/UnrollLoop.h>

#include <algorithm>
#include <bit>

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// The limits of the unroll factor, and of the instructions in all unrolled turns together. In cycles of an AMD EPYC of
// 2021, a turn takes 2.0 alone and 1.1 with a factor of eight for a checked lookup at an index from memory, 0.9 without
// the check; for counting, 2.0 and 1.2.
constexpr unsigned kMostTurns = 8;
constexpr unsigned kMostInstructions = 128;
// A limit for generated code: functions with more such loops would take long to compile.
constexpr std::size_t kMostLoops = 32;

struct Analyses {
  explicit Analyses(llvm::Function& function)
      : dominators(function),
        loops(dominators),
        library_names(llvm::Triple(function.getParent()->getTargetTriple())),
        library(library_names, &function),
        assumptions(function),
        evolution(function, library, assumptions, dominators, loops) {}

  llvm::DominatorTree dominators;
  llvm::LoopInfo loops;
  llvm::TargetLibraryInfoImpl library_names;
  llvm::TargetLibraryInfo library;
  llvm::AssumptionCache assumptions;
  llvm::ScalarEvolution evolution;
};

// The unroll factor; 1: the loop is unchanged.
unsigned turns_at_once(const llvm::Loop& loop) {
  if (!loop.isInnermost() || loop.getLoopLatch() == nullptr) return 1;
  for (const char* done : {"llvm.loop.unroll.disable", "llvm.loop.isvectorized"}) {
    if (llvm::findStringMetadataForLoop(&loop, done)) return 1;
  }
  unsigned instructions = 0;
  for (const BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const bool is_call = call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call);
      if (is_call || instruction.isAtomic() || instruction.getType()->isVectorTy()) return 1;
    }
    instructions += static_cast<unsigned>(block->size());
  }
  return std::clamp(std::bit_floor(kMostInstructions / std::max(instructions, 1U)), 1U, kMostTurns);
}

// A counted exit of a loop: a block that each turn executes, and the number of turns after which it leaves the loop, if
// no other check fails before. Bounds checks of the counter are such exits, too.
struct CountedEnd {
  BasicBlock* block = nullptr;
  const llvm::SCEV* turns = nullptr;
};
using CountedEnds = llvm::SmallVector<CountedEnd, 4>;

// Whether the value depends on an element loaded in a loop, such as the length of a row of a sparse matrix.
bool depends_on_elements(const llvm::SCEV* value, const llvm::LoopInfo& loops) {
  return llvm::SCEVExprContains(value, [&](const llvm::SCEV* part) {
    const auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(part);
    llvm::SmallVector<const Value*, 8> work;
    if (unknown != nullptr) work.push_back(unknown->getValue());
    llvm::SmallPtrSet<const Value*, 8> seen;
    while (!work.empty()) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(work.pop_back_val());
      if (instruction == nullptr || !seen.insert(instruction).second) continue;
      const bool is_load = llvm::isa<llvm::LoadInst>(instruction);
      if (is_load && loops.getLoopFor(instruction->getParent()) != nullptr) return true;
      if (!is_load) work.append(instruction->op_begin(), instruction->op_end());
    }
    return false;
  });
}

CountedEnds find_ends(const llvm::Loop& loop, Analyses& analyses) {
  CountedEnds ends;
  llvm::SmallVector<BasicBlock*, 8> exiting;
  loop.getExitingBlocks(exiting);
  for (BasicBlock* block : exiting) {
    if (!analyses.dominators.dominates(block, loop.getLoopLatch())) continue;
    if (!llvm::isa<llvm::BranchInst>(block->getTerminator())) continue;
    const llvm::SCEV* const turns = analyses.evolution.getExitCount(&loop, block);
    if (llvm::isa<llvm::SCEVCouldNotCompute, llvm::SCEVConstant>(turns)) continue;
    const bool divides = llvm::SCEVExprContains(
        turns, [](const llvm::SCEV* part) { return llvm::isa<llvm::SCEVUDivExpr>(part); });
    if (!divides && analyses.evolution.getTypeSizeInBits(turns->getType()) <= 64)
      ends.push_back({block, turns});
  }
  return ends;
}

// The number of turns that take none of these exits.
const llvm::SCEV* turns_of(const CountedEnds& ends, Analyses& analyses) {
  const llvm::SCEV* turns = ends.front().turns;
  for (const CountedEnd& end : ends) turns = analyses.evolution.getUMinFromMismatchedTypes(turns, end.turns);
  return turns;
}

// A copy of a loop without some of its exits, for turns that do not take them.
class CopyWithoutEnds {
 public:
  CopyWithoutEnds(llvm::Loop& loop, const CountedEnds& ends)
      : loop_(loop), header_(loop.getHeader()), latch_(loop.getLoopLatch()), b_(header_->getContext()) {
    for (const CountedEnd& end : ends) ends_.insert(end.block);
    for (BasicBlock* block : loop.blocks()) {
      copied_.push_back(llvm::CloneBasicBlock(block, copies_, ".several", header_->getParent()));
      copies_[block] = copied_.back();
    }
    llvm::remapInstructionsInBlocks(copied_, copies_);
  }

  // Runs in place of the loop if `holds`, which is known before the loop.
  void put_beside(Value* holds) {
    leave_for_same_places();
    llvm::Instruction* const entry = loop_.getLoopPreheader()->getTerminator();
    b_.SetInsertPoint(entry);
    b_.CreateCondBr(holds, llvm::cast<BasicBlock>(copy_of(header_)), header_);
    entry->eraseFromParent();
  }

  // Runs before the loop, for a known number of turns; the loop itself runs the last turn. Returns the header of the
  // copy.
  BasicBlock* put_in_front(Value* turns) {
    BasicBlock* const before = loop_.getLoopPreheader();
    auto* const first = llvm::cast<BasicBlock>(copy_of(header_));
    leave_for_same_places();
    BasicBlock* const between = BasicBlock::Create(b_.getContext(), "between", header_->getParent(), header_);
    BasicBlock* const turn = count_turns(turns, before, between);
    b_.SetInsertPoint(between);
    for (llvm::PHINode& phi : header_->phis()) {
      llvm::PHINode* const reached = b_.CreatePHI(phi.getType(), 2);
      reached->addIncoming(phi.getIncomingValueForBlock(before), before);
      reached->addIncoming(copy_of(phi.getIncomingValueForBlock(latch_)), turn);
      const auto from_before = static_cast<unsigned>(phi.getBasicBlockIndex(before));
      phi.setIncomingBlock(from_before, between);
      phi.setIncomingValue(from_before, reached);
    }
    b_.CreateBr(header_);
    llvm::Instruction* const entry = before->getTerminator();
    b_.SetInsertPoint(entry);
    b_.CreateCondBr(b_.CreateIsNull(turns), between, first);
    entry->eraseFromParent();
    return first;
  }

 private:
  Value* copy_of(Value* value) const {
    Value* const copy = copies_.lookup(value);
    return copy == nullptr ? value : copy;
  }

  // A check's exit from the copy has the same target as in the loop; the counted exits are unreachable in the copy.
  void leave_for_same_places() {
    for (BasicBlock* block : loop_.blocks()) {
      auto* const copy = llvm::cast<BasicBlock>(copy_of(block));
      BasicBlock* inside = nullptr;
      for (BasicBlock* next : llvm::successors(block)) {
        if (loop_.contains(next)) inside = llvm::cast<BasicBlock>(copy_of(next));
        if (loop_.contains(next) || ends_.contains(block)) continue;
        for (llvm::PHINode& phi : next->phis())
          phi.addIncoming(copy_of(phi.getIncomingValueForBlock(block)), copy);
      }
      if (!ends_.contains(block)) continue;
      copy->getTerminator()->eraseFromParent();
      b_.SetInsertPoint(copy);
      b_.CreateBr(inside);
    }
  }

  // After the copy's latch: continues while there are turns left. Returns the block that does so.
  BasicBlock* count_turns(Value* turns, BasicBlock* before, BasicBlock* between) {
    auto* const first = llvm::cast<BasicBlock>(copy_of(header_));
    auto* const last = llvm::cast<BasicBlock>(copy_of(latch_));
    BasicBlock* const turn = BasicBlock::Create(b_.getContext(), "turn", header_->getParent(), between);
    last->getTerminator()->replaceSuccessorWith(first, turn);
    for (llvm::PHINode& phi : first->phis()) phi.replaceIncomingBlockWith(last, turn);
    b_.SetInsertPoint(first, first->begin());
    llvm::PHINode* const left = b_.CreatePHI(b_.getInt64Ty(), 2, "left");
    b_.SetInsertPoint(turn);
    Value* const still_left = b_.CreateNUWSub(left, b_.getInt64(1));
    b_.CreateCondBr(b_.CreateIsNull(still_left), between, first);
    left->addIncoming(turns, before);
    left->addIncoming(still_left, turn);
    return turn;
  }

  llvm::Loop& loop_;
  llvm::SmallPtrSet<BasicBlock*, 4> ends_;
  BasicBlock* const header_;
  BasicBlock* const latch_;
  llvm::IRBuilder<> b_;
  llvm::ValueToValueMapTy copies_;
  llvm::SmallVector<BasicBlock*, 8> copied_;
};

// The header of a copy before the loop that runs a multiple of `at_once` turns; null if they cannot be counted.
BasicBlock* put_copy_in_front(llvm::Loop& loop, const CountedEnds& ends, unsigned at_once,
                              Analyses& analyses) {
  llvm::Instruction* const before = loop.getLoopPreheader()->getTerminator();
  llvm::SCEVExpander expander(analyses.evolution, before->getDataLayout(), "turns");
  const llvm::SCEV* const count = turns_of(ends, analyses);
  if (!expander.isSafeToExpandAt(count, before)) return nullptr;
  Value* const turns = expander.expandCodeFor(count, count->getType(), before->getIterator());
  llvm::IRBuilder<> b(before);
  Value* const whole =
      b.CreateAnd(b.CreateZExt(turns, b.getInt64Ty()), b.getInt64(~std::uint64_t{at_once - 1}), "whole");
  BasicBlock* const header = CopyWithoutEnds(loop, ends).put_in_front(whole);
  loop.setLoopAlreadyUnrolled();
  return header;
}

// Loops whose number of turns is loaded are often short: remainder turns would take longer than unrolling saves, and
// the exit of an unrolled copy would be mispredicted. One test before the loop pays, because it nearly always has the
// same result: whether the last turn passes the bounds checks of the counter.
void check_once(llvm::Loop& loop, CountedEnds ends, Analyses& analyses) {
  // Branch weights mark checks as rarely failing.
  const auto is_check = [](const CountedEnd& end) {
    return end.block->getTerminator()->hasMetadata(llvm::LLVMContext::MD_prof);
  };
  if (llvm::count_if(ends, is_check) + 1 != static_cast<std::ptrdiff_t>(ends.size()) || ends.size() == 1)
    return;
  auto* const found = llvm::find_if_not(ends, is_check);
  const CountedEnd last = *found;
  ends.erase(found);
  llvm::Instruction* const before = loop.getLoopPreheader()->getTerminator();
  llvm::SCEVExpander expander(analyses.evolution, before->getDataLayout(), "turns");
  llvm::IRBuilder<> b(before);
  const auto count = [&](const llvm::SCEV* turns) {
    return b.CreateZExt(expander.expandCodeFor(turns, turns->getType(), before->getIterator()),
                        b.getInt64Ty());
  };
  const auto can_count = [&](const CountedEnd& end) { return expander.isSafeToExpandAt(end.turns, before); };
  if (!can_count(last) || !llvm::all_of(ends, can_count)) return;
  Value* const turns = count(last.turns);
  Value* holds = b.getTrue();
  for (const CountedEnd& check : ends) {
    // If the check follows the exit, the last turn does not reach it.
    const bool is_behind = analyses.dominators.properlyDominates(last.block, check.block);
    const auto passes = is_behind ? llvm::CmpInst::ICMP_ULE : llvm::CmpInst::ICMP_ULT;
    holds = b.CreateAnd(holds, b.CreateICmp(passes, turns, count(check.turns)));
  }
  CopyWithoutEnds(loop, ends).put_beside(holds);
}

void unroll(llvm::Function& function, BasicBlock* header, unsigned turns,
            const llvm::TargetMachine& machine) {
  Analyses analyses(function);
  llvm::Loop* const loop = analyses.loops.getLoopFor(header);
  llvm::simplifyLoop(loop, &analyses.dominators, &analyses.loops, &analyses.evolution, &analyses.assumptions,
                     nullptr, /*PreserveLCSSA=*/false);
  llvm::formLCSSARecursively(*loop, analyses.dominators, &analyses.loops, &analyses.evolution);
  const llvm::TargetTransformInfo costs = machine.getTargetTransformInfo(function);
  llvm::OptimizationRemarkEmitter remarks(&function);
  const llvm::UnrollLoopOptions options = {.Count = turns,
                                           .Force = true,
                                           .Runtime = false,
                                           .AllowExpensiveTripCount = false,
                                           .UnrollRemainder = false,
                                           .ForgetAllSCEV = false};
  const auto result =
      llvm::UnrollLoop(loop, options, &analyses.loops, &analyses.evolution, &analyses.dominators,
                       &analyses.assumptions, &costs, &remarks, /*PreserveLCSSA=*/true);
  if (result == llvm::LoopUnrollResult::PartiallyUnrolled) loop->setLoopAlreadyUnrolled();
}

}  // namespace

void unroll_small_loops(llvm::Function& function, const llvm::TargetMachine& machine) {
  llvm::SmallPtrSet<const BasicBlock*, 8> seen;
  while (seen.size() < kMostLoops) {
    Analyses analyses(function);
    llvm::Loop* next = nullptr;
    for (llvm::Loop* loop : analyses.loops.getLoopsInPreorder()) {
      if (next == nullptr && turns_at_once(*loop) > 1 && !seen.contains(loop->getHeader())) next = loop;
    }
    if (next == nullptr) return;
    seen.insert(next->getHeader());
    llvm::simplifyLoop(next, &analyses.dominators, &analyses.loops, &analyses.evolution,
                       &analyses.assumptions, nullptr, /*PreserveLCSSA=*/false);
    llvm::formLCSSARecursively(*next, analyses.dominators, &analyses.loops, &analyses.evolution);
    const unsigned turns = turns_at_once(*next);
    if (turns == 1) continue;
    const CountedEnds ends = find_ends(*next, analyses);
    if (ends.empty()) continue;
    if (llvm::any_of(ends,
                     [&](const CountedEnd& end) { return depends_on_elements(end.turns, analyses.loops); })) {
      check_once(*next, ends, analyses);
      continue;
    }
    if (BasicBlock* const copy = put_copy_in_front(*next, ends, turns, analyses); copy != nullptr) {
      seen.insert(copy);
      unroll(function, copy, turns, machine);
    }
  }
}

}  // namespace dhpvm::codegen
