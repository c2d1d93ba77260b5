// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/walks.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/math.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

class Walks {
 public:
  Walks(llvm::Function& function, const std::vector<ArgShape>& args)
      : function_(function), analyses_(function, args) {}

  bool everywhere();

 private:
  bool walks(const llvm::Loop& loop);
  bool may_follow_itself(const llvm::PHINode& phi, const llvm::Loop& loop);

  llvm::Function& function_;
  LoopAnalyses analyses_;
};

bool Walks::everywhere() {
  bool any = false;
  for (const llvm::Loop* loop : analyses_.loops.getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    if (!walks(*loop)) return false;
    any = true;
  }
  if (!any) return false;
  unsigned operations = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function_)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && !math_function(*call).empty()) return false;
    const llvm::Loop* loop = analyses_.loops.getLoopFor(instruction.getParent());
    const bool is_outside = loop == nullptr || !loop->isInnermost();
    const bool computes = instruction.isBinaryOp() && instruction.getType()->isFloatingPointTy();
    operations += computes && is_outside && analyses_.divergence.shape(&instruction).is_varying() ? 1 : 0;
  }
  return operations <= kThresholds.operations_of_one_lane;
}

bool Walks::walks(const llvm::Loop& loop) {
  const unsigned turns = analyses_.evolution.getSmallConstantTripCount(&loop);
  if (turns != 0 && turns <= kThresholds.short_loop) return false;
  for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (!may_follow_itself(phi, loop)) return false;
  }
  bool any_row = false;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction))
        return false;
      llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (address == nullptr) {
        if (instruction.mayReadOrWriteMemory()) return false;
        continue;
      }
      if (instruction.isAtomic() || instruction.isVolatile()) return false;
      if (analyses_.divergence.shape(address).is_uniform() && private_base(address) == nullptr) continue;
      if (walk_of(analyses_, address, loop) != LaneWalk::kRow) return false;
      any_row = true;
    }
  }
  return any_row;
}

// Whether the next turn's dependence on this one costs no time: a counter, an integer operation, or a reassociable sum
// of floats.
bool Walks::may_follow_itself(const llvm::PHINode& phi, const llvm::Loop& loop) {
  auto& value = const_cast<llvm::PHINode&>(phi);
  if (analyses_.evolution.isSCEVable(phi.getType())) {
    const auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(analyses_.evolution.getSCEV(&value));
    if (counter != nullptr && counter->getLoop() == &loop) return true;
  }
  const auto* next = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
  if (next == nullptr ||
      llvm::none_of(next->operands(), [&](const llvm::Value* operand) { return operand == &phi; }))
    return false;
  if (phi.getType()->isFloatingPointTy()) {
    const auto is_outside = [&](const llvm::User* user) {
      return user == &phi || !loop.contains(llvm::cast<llvm::Instruction>(user));
    };
    return next->getOpcode() == llvm::Instruction::FAdd && next->hasAllowReassoc() && phi.hasOneUse() &&
           llvm::all_of(next->users(), is_outside);
  }
  if (!phi.getType()->isIntegerTy()) return false;
  switch (next->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor: return true;
    default: return llvm::isa<llvm::MinMaxIntrinsic>(next);
  }
}

}  // namespace

LaneWalk walk_of(LoopAnalyses& analyses, llvm::Value* address, const llvm::Loop& loop) {
  if (private_base(address) != nullptr) return LaneWalk::kScattered;
  const Shape shape = analyses.divergence.shape(address);
  if (shape.is_affine() && static_cast<std::uint64_t>(std::abs(shape.stride())) < kThresholds.line)
    return LaneWalk::kTogether;
  const auto* moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(analyses.evolution.getSCEV(address));
  if (moving == nullptr || moving->getLoop() != &loop) return LaneWalk::kScattered;
  const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(moving->getStepRecurrence(analyses.evolution));
  return step != nullptr && step->getAPInt().abs().ult(kThresholds.line) ? LaneWalk::kRow
                                                                         : LaneWalk::kScattered;
}

bool walks_rows(const llvm::Function& scalar, const std::vector<ArgShape>& args) {
  // The analyses take functions by mutable reference, but change nothing.
  return Walks(const_cast<llvm::Function&>(scalar), args).everywhere();
}

}  // namespace dhpvm::codegen::spmd
