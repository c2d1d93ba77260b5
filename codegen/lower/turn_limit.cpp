// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/turn_limit.h"

#include <llvm/IR/Intrinsics.h>

#include <cstdlib>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;
using llvm::BasicBlock;
using llvm::Value;

void TurnLimit::require(Value* ok) {
  BasicBlock* const go_on = ir_.new_block("inside");
  ir_.branch_cold(b_.CreateNot(ok), careful_, go_on);
  b_.SetInsertPoint(go_on);
}

void TurnLimit::limit(const Step& step, Value* room) {
  Value*& least = rooms_[{std::abs(step.factor), step.times}];
  least = least == nullptr ? room : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, least, room);
}

// The lower number is below the higher one, both without sign. They come closer to each other by the step; a negative
// one takes the lower number down to 0.
void TurnLimit::stay_below(Value* low, Value* high, const Step& step) {
  require(b_.CreateICmpULT(low, high));
  if (step.factor > 0) limit(step, b_.CreateSub(b_.CreateSub(high, low), ir_.constant(1)));
  if (step.factor < 0) limit(step, low);
}

// The distance of both is exact without sign, whether they have signs or not.
void TurnLimit::stay_inside(const SteppedAccess& access, const BoundCheck& check) {
  using Predicate = llvm::CmpInst::Predicate;
  const auto value = [&](const BoundCheck::Side& side) {
    return side.reg != bytecode::kNoIndex ? values_.at(access.block, access.pc, side.reg)
                                          : ir_.constant(static_cast<std::uint64_t>(side.constant));
  };
  Value* const low = value(check.low);
  Value* const high = value(check.high);
  const Predicate strict = check.with_sign ? Predicate::ICMP_SLT : Predicate::ICMP_ULT;
  const Predicate equal = check.with_sign ? Predicate::ICMP_SLE : Predicate::ICMP_ULE;
  require(b_.CreateICmp(check.strict ? strict : equal, low, high));
  if (access.step.factor > 0) {
    Value* const distance = b_.CreateSub(high, low);
    limit(access.step, check.strict ? b_.CreateSub(distance, ir_.constant(1)) : distance);
  }
  if (access.step.factor < 0) limit(access.step, low);
}

void TurnLimit::look_at(const SteppedAccess& access) {
  const Instruction i = lowering_.instruction(access.pc);
  const auto value = [&](std::uint32_t reg) { return values_.at(access.block, access.pc, reg); };
  const auto field = [&](llvm::AllocaInst* of) { return b_.CreateLoad(b_.getInt64Ty(), of); };
  if (const auto taken = loop_.taken.find(access.pc); taken != loop_.taken.end())
    return require(b_.CreateLoad(b_.getInt1Ty(), kept_[taken->second].there));
  if (const std::optional<BoundCheck> check = flow_.bound_check(loop_, access.block, i))
    return stay_inside(access, *check);
  const LoopStrips::KeptReference& array = kept_[loop_.arrays.at(access.pc)];
  switch (i.row->family) {
    case Family::kLoad:
    case Family::kLoadField: return stay_below(value(i.c), field(array.readable), access.step);
    case Family::kStore:
    case Family::kStoreField: return stay_below(value(i.b), field(array.writable), access.step);
    // Null has no length.
    case Family::kArrayLength: return require(b_.CreateICmpSGE(field(array.length), ir_.constant(0)));
    default: break;
  }
  const bool third = i.op == Op::kIndex3;
  stay_below(value(i.c), field(array.dimensions[0]), {});
  stay_below(value(i.x0()), field(array.dimensions[1]), third ? Step{} : access.step);
  if (third) stay_below(value(i.x1()), field(array.dimensions[2]), access.step);
}

// Steps of a register are those of a program that goes forwards: where it is not positive, each iteration is a stretch.
Value* TurnLimit::turns() {
  Value* least = nullptr;
  for (const auto& [size, room] : rooms_) {
    Value* turns = room;
    if (size.second != bytecode::kNoIndex) {
      Value* const step = registers_.get_i64(size.second);
      Value* const forwards = b_.CreateICmpSGT(step, ir_.constant(0));
      Value* const divisor = b_.CreateSelect(forwards, step, ir_.constant(1));
      turns = b_.CreateSelect(forwards, b_.CreateUDiv(room, divisor), ir_.constant(0));
    } else if (size.first != 1) {
      turns = b_.CreateUDiv(room, ir_.constant(static_cast<std::uint64_t>(size.first)));
    }
    least = least == nullptr ? turns : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, least, turns);
  }
  return least;
}

Value* TurnLimit::find() {
  for (const SteppedAccess& access : loop_.stepped) look_at(access);
  return turns();
}

}  // namespace dhpvm::codegen
