// SPDX-License-Identifier: Apache-2.0
// Reductions by work-groups: each run of kReductionLanes work-items processes one block at a time, one lane per
// work-item. All runs of a group execute the same number of steps, because barriers require it.
#include "codegen/device/loop_emitter.h"
#include "codegen/group_work.h"
#include "codegen/lower/reduce.h"

namespace dhpvm::codegen {

using bytecode::kReductionLanes;
using llvm::PHINode;

void LoopEmitter::emit_group_blocks() {
  Value* const item = call_builtin(b_, Builtin::kLocalId, 0);
  Value* const run = b_.CreateUDiv(item, i64(kReductionLanes));
  lane_ = b_.CreateURem(item, i64(kReductionLanes));
  Value* const runs = b_.CreateUDiv(call_builtin(b_, Builtin::kLocalSize, 0), i64(kReductionLanes));
  Value* const of_row = blocks_of_row();
  Value* const total = blocks_of_chunk(of_row);
  Value* const first = b_.CreateMul(linear(Builtin::kGroupId, Builtin::kGroupCount), runs);
  Value* const step = b_.CreateMul(product(Builtin::kGroupCount), runs);
  make_local_memory(item);
  if (form_.terms != nullptr) {
    BasicBlock* const shared = block("shared");
    BasicBlock* const separate = block("separate");
    Value* const groups = product(Builtin::kGroupCount);
    Value* const is_one_each = b_.CreateAnd(b_.CreateICmpEQ(groups, total), b_.CreateICmpUGT(runs, i64(1)));
    Value* rows = i64(1);
    for (unsigned d = 0; d < inner_; ++d) rows = b_.CreateMul(rows, extent_[d]);
    Value* const is_one_fewer = b_.CreateAnd(b_.CreateICmpEQ(groups, b_.CreateSub(total, rows)),
                                             b_.CreateICmpUGE(runs, i64(kLeastRunsForTwo)));
    b_.CreateCondBr(b_.CreateOr(is_one_each, is_one_fewer), shared, separate);
    b_.SetInsertPoint(shared);
    emit_shared_blocks(item, of_row, is_one_fewer);
    b_.SetInsertPoint(separate);
  }

  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const header = block("blocks");
  BasicBlock* const inside = block("inside");
  BasicBlock* const work = block("work");
  BasicBlock* const join = block("join");
  BasicBlock* const after = block("after");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  PHINode* const base = b_.CreatePHI(b_.getInt64Ty(), 2, "base");
  PHINode* const has_trapped = b_.CreatePHI(b_.getInt1Ty(), 2, "has_trapped");
  base->addIncoming(first, before);
  has_trapped->addIncoming(b_.getFalse(), before);
  b_.CreateCondBr(b_.CreateICmpULT(base, total), inside, after);

  b_.SetInsertPoint(inside);
  Value* const number = b_.CreateAdd(base, run, "block");
  Value* const exists = b_.CreateICmpULT(number, total);
  b_.CreateCondBr(b_.CreateAnd(exists, b_.CreateNot(has_trapped)), work, join);

  b_.SetInsertPoint(join);
  PHINode* const traps = b_.CreatePHI(b_.getInt1Ty(), 3, "trapped");
  traps->addIncoming(has_trapped, inside);
  std::vector<PHINode*> values;
  for (std::size_t n = 0; n < body_.accumulators.size(); ++n) {
    values.push_back(b_.CreatePHI(body_.accumulators[n], 3));
    values.back()->addIncoming(identity(n), inside);
  }
  b_.SetInsertPoint(work);
  emit_lane(number, of_row, join, traps, values);

  b_.SetInsertPoint(join);
  combine_lanes({values.begin(), values.end()}, number, exists);
  base->addIncoming(b_.CreateAdd(base, step, "", /*HasNUW=*/true), b_.GetInsertBlock());
  has_trapped->addIncoming(traps, b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(after);
}

// The iterations of this lane in block `number`; continues in `join`.
void LoopEmitter::emit_lane(Value* number, Value* blocks_of_row, BasicBlock* join, PHINode* traps,
                            const std::vector<PHINode*>& values) {
  const auto [begin, end] = enter_block(number, blocks_of_row);
  Value* const first = b_.CreateAdd(begin, lane_);

  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const header = block("lane");
  BasicBlock* const inside = block("inside");
  BasicBlock* const trapped = body_.sites.empty() ? nullptr : block("trapped");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  PHINode* const offset = b_.CreatePHI(b_.getInt64Ty(), 2, "offset");
  offset->addIncoming(first, before);
  std::vector<PHINode*> accumulators;
  for (std::size_t n = 0; n < values.size(); ++n) {
    accumulators.push_back(b_.CreatePHI(body_.accumulators[n], 2, "sum"));
    accumulators.back()->addIncoming(identity(n), before);
    values[n]->addIncoming(accumulators.back(), header);
    if (trapped != nullptr) values[n]->addIncoming(identity(n), trapped);
  }
  traps->addIncoming(b_.getFalse(), header);
  if (trapped != nullptr) traps->addIncoming(b_.getTrue(), trapped);
  b_.CreateCondBr(b_.CreateICmpULT(offset, end), inside, join);

  b_.SetInsertPoint(inside);
  index_[inner_] = b_.CreateAdd(low_[inner_], offset, "i");
  const Values updated = call_body({accumulators.begin(), accumulators.end()}, trapped);
  offset->addIncoming(b_.CreateAdd(offset, i64(kReductionLanes), "", /*HasNUW=*/true), b_.GetInsertBlock());
  for (std::size_t n = 0; n < updated.size(); ++n) {
    accumulators[n]->addIncoming(updated[n], b_.GetInsertBlock());
  }
  b_.CreateBr(header);
  if (trapped == nullptr) return;
  b_.SetInsertPoint(trapped);
  b_.CreateBr(join);
}

// One value per work-item and reduction, with room for the largest group.
void LoopEmitter::make_local_memory(Value* item) {
  for (llvm::Type* const type : body_.accumulators) {
    llvm::GlobalVariable* const memory = local_array(module_, type, form_.group, "lanes");
    local_.push_back(memory);
    places_.push_back(b_.CreateInBoundsGEP(type, memory, item));
  }
}

// Lane l takes the value of lane l + 16, then + 8, 4, 2, 1; lane 0 writes the block's values.
void LoopEmitter::combine_lanes(Values values, Value* number, Value* exists) {
  for (std::size_t n = 0; n < values.size(); ++n) b_.CreateStore(values[n], places_[n]);
  for (std::uint64_t distance = kReductionLanes / 2; distance > 0; distance /= 2) {
    call_builtin(b_, Builtin::kBarrier);
    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const take = block("take");
    BasicBlock* const next = block("next");
    b_.CreateCondBr(b_.CreateICmpULT(lane_, i64(distance)), take, next);
    b_.SetInsertPoint(take);
    Values combined;
    for (std::size_t n = 0; n < values.size(); ++n) {
      llvm::Type* const type = body_.accumulators[n];
      Value* const other = b_.CreateLoad(type, b_.CreateInBoundsGEP(type, places_[n], i64(distance)));
      combined.push_back(combine(b_, record_.reductions[n], values[n], other));
      if (distance > 1) b_.CreateStore(combined.back(), places_[n]);
    }
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    for (std::size_t n = 0; n < values.size(); ++n) {
      PHINode* const merged = b_.CreatePHI(body_.accumulators[n], 2);
      merged->addIncoming(values[n], before);
      merged->addIncoming(combined[n], take);
      values[n] = merged;
    }
  }
  BasicBlock* const write = block("write");
  BasicBlock* const next = block("next");
  b_.CreateCondBr(b_.CreateAnd(exists, b_.CreateICmpEQ(lane_, i64(0))), write, next);
  b_.SetInsertPoint(write);
  write_partials(number, values);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
  // Before the local memory is written again.
  call_builtin(b_, Builtin::kBarrier);
}

}  // namespace dhpvm::codegen
