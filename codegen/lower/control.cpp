// SPDX-License-Identifier: Apache-2.0
// Jumps, branches, back-edges.
#include "codegen/lower/arithmetic.h"
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using llvm::BasicBlock;

void Lowering::lower_branch(Value* condition) {
  const std::uint32_t next = flow_.blocks()[block_].successors.front();
  const std::uint32_t target = flow_.blocks()[block_].successors.back();
  BasicBlock* const otherwise = edge_to(next);
  BasicBlock* const taken = edge_to(target);
  const bool next_is_rare = flow_.rare().is_rare_edge(block_, next);
  const bool target_is_rare = flow_.rare().is_rare_edge(block_, target);
  if (next_is_rare == target_is_rare) {
    b_.CreateCondBr(condition, taken, otherwise);
  } else if (target_is_rare) {
    ir_.branch_cold(condition, taken, otherwise);
  } else {
    ir_.branch_cold(b_.CreateNot(condition), otherwise, taken);
  }
}

void Lowering::lower_jump_compare(const Instruction& i) {
  if (strips_.is_stepped(i)) return go_to(flow_.index_check(block_, i)->inside);
  if (const std::optional<IndexCheck> check = flow_.index_check(block_, i)) {
    if (strips_.go_on_if_covered(i)) return go_to(check->inside);
  }
  lower_branch(
      condition_of(b_, i, [this](std::uint32_t reg, SlotType type) { return registers_.get(reg, type); }));
}

void Lowering::lower_for(const Instruction& i) {
  if (const std::optional<std::size_t> loop = strips_.loop_of(block_); loop && flow_.loops()[*loop].counted) {
    return strips_.lower_latch(i, *loop);
  }
  const Block& block = flow_.blocks()[block_];
  const SlotType type = slot_type(*i.row->kind);
  Value* const next = b_.CreateAdd(registers_.get(i.a, type), llvm::ConstantInt::get(ir_.llvm_type(type), 1));
  Value* const again = b_.CreateICmpSLT(next, registers_.get(i.b, type));
  BasicBlock* const taken = ir_.new_block("again");
  BasicBlock* const done = ir_.new_block("done");
  b_.CreateCondBr(again, taken, done);
  b_.SetInsertPoint(taken);
  registers_.set(i.a, next);
  strips_.go_back(i, block.successors.back());
  b_.SetInsertPoint(done);
  registers_.set(i.a, next);
  go_to(block.successors.front());
}

void Lowering::lower_jump(const Instruction& i) {
  const std::uint32_t successor = flow_.blocks()[block_].successors.front();
  if (i.has(bytecode::kBackEdge)) {
    strips_.go_back(i, successor);
  } else {
    go_to(successor);
  }
}

void Lowering::lower_jump_if(const Instruction& i) {
  const bool if_true = i.row->operation == bytecode::Operation::kNe;
  const llvm::CmpInst::Predicate predicate = if_true ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ;
  lower_branch(b_.CreateICmp(predicate, registers_.get_i32(i.a), b_.getInt32(0)));
}

}  // namespace dhpvm::codegen
