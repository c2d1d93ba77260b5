// SPDX-License-Identifier: Apache-2.0
// Jumps, branches, back-edges.
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using bytecode::Op;
using llvm::BasicBlock;

void Lowering::lower_branch(Value* condition) {
  const Block& block = flow_.blocks()[block_];
  BasicBlock* const otherwise = edge_to(block.successors.front());
  b_.CreateCondBr(condition, edge_to(block.successors.back()), otherwise);
}

void Lowering::lower_for(const Instruction& i) {
  if (const std::optional<std::size_t> loop = loop_of(block_); loop && flow_.loops()[*loop].counted) {
    return lower_counted_latch(i, *loop);
  }
  const Block& block = flow_.blocks()[block_];
  const SlotType type = i.op == Op::kForI64 ? SlotType::kI64 : SlotType::kI32;
  Value* const next = b_.CreateAdd(get(i.a, type), llvm::ConstantInt::get(llvm_type(type), 1));
  Value* const again = b_.CreateICmpSLT(next, get(i.b, type));
  BasicBlock* const taken = new_block("again");
  BasicBlock* const done = new_block("done");
  b_.CreateCondBr(again, taken, done);
  b_.SetInsertPoint(taken);
  set(i.a, next);
  go_back(i, block.successors.back());
  b_.SetInsertPoint(done);
  set(i.a, next);
  go_to(block.successors.front());
}

bool Lowering::lower_control(const Instruction& i) {
  const auto integers = [&](llvm::CmpInst::Predicate predicate, SlotType type) {
    lower_branch(b_.CreateICmp(predicate, get(i.a, type), get(i.b, type)));
    return true;
  };
  const auto floats = [&](llvm::CmpInst::Predicate predicate, SlotType type) {
    lower_branch(b_.CreateFCmp(predicate, get(i.a, type), get(i.b, type)));
    return true;
  };
  const auto immediate = [&](llvm::CmpInst::Predicate predicate, SlotType type) {
    Value* const value = llvm::ConstantInt::getSigned(llvm_type(type), static_cast<std::int16_t>(i.b));
    lower_branch(b_.CreateICmp(predicate, get(i.a, type), value));
    return true;
  };
  using llvm::CmpInst;
  constexpr SlotType k32 = SlotType::kI32;
  constexpr SlotType k64 = SlotType::kI64;
  constexpr SlotType kFloat = SlotType::kF32;
  constexpr SlotType kDouble = SlotType::kF64;
  switch (i.op) {
    case Op::kNop: return true;
    case Op::kJump: go_to(flow_.blocks()[block_].successors.front()); return true;
    case Op::kLoop: go_back(i, flow_.blocks()[block_].successors.front()); return true;
    case Op::kForI32:
    case Op::kForI64: lower_for(i); return true;
    case Op::kJumpIf: lower_branch(b_.CreateICmpNE(get_i32(i.a), b_.getInt32(0))); return true;
    case Op::kJumpIfNot: lower_branch(b_.CreateICmpEQ(get_i32(i.a), b_.getInt32(0))); return true;
    case Op::kJEqI32: return integers(CmpInst::ICMP_EQ, k32);
    case Op::kJNeI32: return integers(CmpInst::ICMP_NE, k32);
    case Op::kJLtI32: return integers(CmpInst::ICMP_SLT, k32);
    case Op::kJLeI32: return integers(CmpInst::ICMP_SLE, k32);
    case Op::kJEqI64: return integers(CmpInst::ICMP_EQ, k64);
    case Op::kJNeI64: return integers(CmpInst::ICMP_NE, k64);
    case Op::kJLtI64: return integers(CmpInst::ICMP_SLT, k64);
    case Op::kJLeI64: return integers(CmpInst::ICMP_SLE, k64);
    case Op::kJLtU32: return integers(CmpInst::ICMP_ULT, k32);
    case Op::kJLeU32: return integers(CmpInst::ICMP_ULE, k32);
    case Op::kJLtU64: return integers(CmpInst::ICMP_ULT, k64);
    case Op::kJLeU64: return integers(CmpInst::ICMP_ULE, k64);
    case Op::kJEqF32: return floats(CmpInst::FCMP_OEQ, kFloat);
    case Op::kJNeF32: return floats(CmpInst::FCMP_UNE, kFloat);
    case Op::kJLtF32: return floats(CmpInst::FCMP_OLT, kFloat);
    case Op::kJLeF32: return floats(CmpInst::FCMP_OLE, kFloat);
    case Op::kJNltF32: return floats(CmpInst::FCMP_UGE, kFloat);
    case Op::kJNleF32: return floats(CmpInst::FCMP_UGT, kFloat);
    case Op::kJEqF64: return floats(CmpInst::FCMP_OEQ, kDouble);
    case Op::kJNeF64: return floats(CmpInst::FCMP_UNE, kDouble);
    case Op::kJLtF64: return floats(CmpInst::FCMP_OLT, kDouble);
    case Op::kJLeF64: return floats(CmpInst::FCMP_OLE, kDouble);
    case Op::kJNltF64: return floats(CmpInst::FCMP_UGE, kDouble);
    case Op::kJNleF64: return floats(CmpInst::FCMP_UGT, kDouble);
    case Op::kJEqImmI32: return immediate(CmpInst::ICMP_EQ, k32);
    case Op::kJNeImmI32: return immediate(CmpInst::ICMP_NE, k32);
    case Op::kJLtImmI32: return immediate(CmpInst::ICMP_SLT, k32);
    case Op::kJLeImmI32: return immediate(CmpInst::ICMP_SLE, k32);
    case Op::kJGtImmI32: return immediate(CmpInst::ICMP_SGT, k32);
    case Op::kJGeImmI32: return immediate(CmpInst::ICMP_SGE, k32);
    case Op::kJEqImmI64: return immediate(CmpInst::ICMP_EQ, k64);
    case Op::kJNeImmI64: return immediate(CmpInst::ICMP_NE, k64);
    case Op::kJLtImmI64: return immediate(CmpInst::ICMP_SLT, k64);
    case Op::kJLeImmI64: return immediate(CmpInst::ICMP_SLE, k64);
    case Op::kJGtImmI64: return immediate(CmpInst::ICMP_SGT, k64);
    case Op::kJGeImmI64: return immediate(CmpInst::ICMP_SGE, k64);
    case Op::kReturn:
    case Op::kReturnP:
    case Op::kReturnR: lower_return(i); return true;
    case Op::kTrap: leave_with_trap(i, TrapKind::kTrapCode); return true;
    default: return false;
  }
}

}  // namespace dhpvm::codegen
