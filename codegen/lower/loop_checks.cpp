// SPDX-License-Identifier: Apache-2.0
// The checks that LoopStrips makes at the start of a strip, in place of checks inside it.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <set>

#include "codegen/lower/loop_strips.h"
#include "codegen/lower/lowering.h"
#include "codegen/lower/strip_values.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;
using llvm::BasicBlock;

BasicBlock* LoopStrips::careful_header(std::size_t loop) {
  BasicBlock*& careful = strips_[loop].carefully[flow_.blocks()[flow_.loops()[loop].header].begin];
  if (careful == nullptr) careful = ir_.new_block("carefully");
  return careful;
}

// The number of back-edges covered by ticks, reserving those for the inlined calls: one for each call in each
// iteration, and there is one iteration more than back-edges. Continues in the careful copy if there are too few.
llvm::Value* LoopStrips::ticks_for_back_edges(std::size_t number) {
  llvm::Value* const ticks = lowering_.ticks_at_hand();
  const std::vector<std::uint32_t>& calls = flow_.loops()[number].seen_calls;
  if (calls.empty()) return ticks;
  llvm::Value* ready = b_.CreateICmpUGE(ticks, ir_.constant(calls.size()));
  std::set<std::uint32_t> callees;
  for (const std::uint32_t begin : calls) callees.insert(lowering_.seen_calls().begins_at(begin)->callee);
  for (const std::uint32_t callee : callees) ready = b_.CreateAnd(ready, lowering_.has_room_for(callee));
  BasicBlock* const go_on = ir_.new_block("ready");
  ir_.branch_cold(b_.CreateNot(ready), careful_header(number), go_on);
  b_.SetInsertPoint(go_on);
  return b_.CreateUDiv(b_.CreateSub(ticks, ir_.constant(calls.size())), ir_.constant(calls.size() + 1));
}

// The checks of some accesses at the start of a strip: the number of back-edges before an index leaves its array, null
// if there is no bound, and either whether all accesses are valid in the first iteration, or where to continue
// otherwise.
struct LoopStrips::StepChecks {
  BasicBlock* otherwise = nullptr;
  llvm::Value* possible = nullptr;
  llvm::Value* steps = nullptr;
};

void LoopStrips::check_steps(std::size_t number, const SteppedAccess& access, StepChecks& checks) {
  const InnerLoop& loop = flow_.loops()[number];
  const std::vector<KeptReference>& references = strips_[number].references;
  const auto require = [&](llvm::Value* possible) {
    if (checks.otherwise == nullptr) {
      checks.possible = checks.possible == nullptr ? possible : b_.CreateAnd(checks.possible, possible);
      return;
    }
    BasicBlock* const inside = ir_.new_block("inside");
    ir_.branch_cold(b_.CreateNot(possible), checks.otherwise, inside);
    b_.SetInsertPoint(inside);
  };
  // Checks that the index is below the limit; if it `grows`, also bounds the number of back-edges.
  const auto stay_below = [&](llvm::Value* index, llvm::Value* limit, bool grows) {
    require(b_.CreateICmpULT(index, limit));
    if (!grows) return;
    llvm::Value* const left = b_.CreateSub(b_.CreateSub(limit, index), ir_.constant(1));
    checks.steps =
        checks.steps == nullptr ? left : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, checks.steps, left);
  };
  const Instruction i = lowering_.instruction(access.pc);
  const auto value = [&](std::uint32_t reg) { return values_of(number).at(access.block, access.pc, reg); };
  const auto field = [&](llvm::AllocaInst* of) { return b_.CreateLoad(b_.getInt64Ty(), of); };
  if (const auto taken = loop.taken.find(access.pc); taken != loop.taken.end()) {
    return require(b_.CreateLoad(b_.getInt1Ty(), references[taken->second].there));
  }
  if (const std::optional<IndexCheck> check = flow_.index_check(access.block, i)) {
    llvm::Value* const limit = value(check->limit);
    return stay_below(value(check->index), limit, access.grows);
  }
  const KeptReference& kept = references[loop.arrays.at(access.pc)];
  switch (i.row->family) {
    case Family::kLoad:
    case Family::kLoadField: return stay_below(value(i.c), field(kept.readable), access.grows);
    case Family::kStore:
    case Family::kStoreField: return stay_below(value(i.b), field(kept.writable), access.grows);
    default: {
      const bool third = i.op == Op::kIndex3;
      stay_below(value(i.c), field(kept.dimensions[0]), false);
      stay_below(value(i.x0()), field(kept.dimensions[1]), access.grows && !third);
      if (third) stay_below(value(i.x1()), field(kept.dimensions[2]), access.grows);
    }
  }
}

// The number of back-edges before an index leaves its array; null if there is no bound. Continues in the careful copy
// if an access that every iteration makes is out of range in the first one.
llvm::Value* LoopStrips::steps_in_range(std::size_t number) {
  StepChecks checks;
  for (const SteppedAccess& access : flow_.loops()[number].stepped) {
    if (access.arm != bytecode::kNoIndex) continue;
    // Only called when it is needed, because the loop has a careful copy then.
    checks.otherwise = careful_header(number);
    check_steps(number, access, checks);
  }
  for (std::uint32_t arm = 0; arm < strips_[number].covered.size(); ++arm)
    checks.steps = cover_arm(number, arm, checks.steps);
  return checks.steps;
}

// Stores whether the accesses of the conditional part need no checks in this strip, and if so limits the strip to the
// back-edges for which that holds. Returns the new limit; null if there is none.
llvm::Value* LoopStrips::cover_arm(std::size_t number, std::uint32_t arm, llvm::Value* steps) {
  StepChecks checks;
  for (const SteppedAccess& access : flow_.loops()[number].stepped) {
    if (access.arm == arm) check_steps(number, access, checks);
  }
  if (checks.possible == nullptr) return steps;  // it has none
  b_.CreateStore(checks.possible, strips_[number].covered[arm]);
  if (checks.steps == nullptr) return steps;
  llvm::Value* const most = b_.CreateSelect(checks.possible, checks.steps, ir_.constant(~std::uint64_t{0}));
  return steps == nullptr ? most : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, steps, most);
}

bool LoopStrips::is_stepped(const Instruction& i) const {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_) return false;
  return std::ranges::any_of(flow_.loops()[*loop].stepped, [&](const SteppedAccess& access) {
    return access.pc == i.pc && access.arm == bytecode::kNoIndex;
  });
}

bool LoopStrips::go_on_if_covered(const Instruction& i) {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_) return false;
  const std::vector<SteppedAccess>& stepped = flow_.loops()[*loop].stepped;
  const auto access = std::ranges::find(stepped, i.pc, &SteppedAccess::pc);
  if (access == stepped.end() || access->arm == bytecode::kNoIndex) return false;
  BasicBlock* const go_on = ir_.new_block("covered");
  llvm::Value* const covered = b_.CreateLoad(b_.getInt1Ty(), strips_[*loop].covered[access->arm]);
  ir_.branch_cold(b_.CreateNot(covered), careful_entry(i), go_on);
  b_.SetInsertPoint(go_on);
  return true;
}

}  // namespace dhpvm::codegen
