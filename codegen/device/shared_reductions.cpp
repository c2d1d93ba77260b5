// SPDX-License-Identifier: Apache-2.0
// Reductions of few blocks: all work-items of a group compute the terms of a block, one each at a time, and its first
// run of lanes combines them in order. The bits are those of a single run.
#include "codegen/device/loop_emitter.h"

namespace dhpvm::codegen {

using bytecode::kReductionLanes;
using llvm::PHINode;

void LoopEmitter::emit_shared_blocks(Value* item, Value* blocks_of_row, Value* one_fewer) {
  Value* const group = linear(Builtin::kGroupId, Builtin::kGroupCount);
  Value* const of_row = b_.CreateSub(blocks_of_row, b_.CreateZExt(one_fewer, b_.getInt64Ty()));
  Value* const row = inner_ == 0 ? i64(0) : b_.CreateUDiv(group, of_row);
  Value* const in_row = inner_ == 0 ? group : b_.CreateURem(group, of_row);
  Value* const first = b_.CreateAdd(b_.CreateMul(row, blocks_of_row), in_row);
  Value* const has_two = b_.CreateAnd(one_fewer, b_.CreateICmpEQ(b_.CreateAdd(in_row, i64(1)), of_row));
  Value* const end = b_.CreateAdd(first, b_.CreateSelect(has_two, i64(2), i64(1)));
  counted(first, end, i64(1), [&](Value* number) { emit_shared_block(item, number, blocks_of_row); });
  b_.CreateRetVoid();
}

void LoopEmitter::emit_shared_block(Value* item, Value* number, Value* blocks_of_row) {
  const auto [begin, end] = enter_block(number, blocks_of_row);
  Value* const size = call_builtin(b_, Builtin::kLocalSize, 0);
  Value* const folds = b_.CreateICmpULT(item, i64(kReductionLanes));
  const std::size_t count = body_.accumulators.size();

  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const header = block("terms");
  BasicBlock* const inside = block("inside");
  BasicBlock* const term = block("term");
  BasicBlock* const filled = block("filled");
  BasicBlock* const after = block("after");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  PHINode* const base = b_.CreatePHI(b_.getInt64Ty(), 2, "base");
  base->addIncoming(begin, before);
  std::vector<PHINode*> sums;
  for (std::size_t n = 0; n < count; ++n) {
    sums.push_back(b_.CreatePHI(body_.accumulators[n], 2, "sum"));
    sums.back()->addIncoming(identity(n), before);
  }
  b_.CreateCondBr(b_.CreateICmpULT(base, end), inside, after);

  b_.SetInsertPoint(inside);
  Value* const offset = b_.CreateAdd(base, item);
  b_.CreateCondBr(b_.CreateICmpULT(offset, end), term, filled);
  b_.SetInsertPoint(term);
  index_[inner_] = b_.CreateAdd(low_[inner_], offset, "i");
  llvm::SmallVector<Value*> arguments = arguments_of_body();
  for (std::size_t n = 0; n < count; ++n) arguments.push_back(identity(n));
  Value* const terms = b_.CreateCall(form_.terms->function, arguments);
  for (unsigned n = 0; n < count; ++n) {
    b_.CreateStore(b_.CreateExtractValue(terms, kAccumulators + n), places_[n]);
  }
  b_.CreateBr(filled);

  b_.SetInsertPoint(filled);
  call_builtin(b_, Builtin::kBarrier);
  Value* const next = b_.CreateAdd(base, size, "", /*HasNUW=*/true);
  const Values folded = fold_terms({sums.begin(), sums.end()}, base,
                                   b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, next, end), folds);
  // Before the terms are overwritten by the next ones, or by the lanes' sums.
  call_builtin(b_, Builtin::kBarrier);
  base->addIncoming(next, b_.GetInsertBlock());
  for (std::size_t n = 0; n < count; ++n) sums[n]->addIncoming(folded[n], b_.GetInsertBlock());
  b_.CreateBr(header);

  b_.SetInsertPoint(after);
  combine_lanes({sums.begin(), sums.end()}, number, folds);
}

// The sums of this lane and its terms of the iterations from `base` up to `end`; unchanged unless `folds`.
LoopEmitter::Values LoopEmitter::fold_terms(const Values& sums, Value* base, Value* end, Value* folds) {
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const header = block("fold");
  BasicBlock* const inside = block("inside");
  BasicBlock* const after = block("folded");
  b_.CreateCondBr(folds, header, after);
  b_.SetInsertPoint(header);
  PHINode* const place = b_.CreatePHI(b_.getInt64Ty(), 2, "place");
  place->addIncoming(lane_, before);
  std::vector<PHINode*> running;
  for (Value* const sum : sums) {
    running.push_back(b_.CreatePHI(sum->getType(), 2, "sum"));
    running.back()->addIncoming(sum, before);
  }
  b_.CreateCondBr(b_.CreateICmpULT(place, b_.CreateSub(end, base)), inside, after);
  b_.SetInsertPoint(inside);
  for (std::size_t n = 0; n < sums.size(); ++n) {
    llvm::Type* const type = sums[n]->getType();
    Value* const term = b_.CreateLoad(type, b_.CreateInBoundsGEP(type, local_[n], place));
    running[n]->addIncoming(form_.terms->combine(b_, n, running[n], term), inside);
  }
  place->addIncoming(b_.CreateAdd(place, i64(kReductionLanes), "", /*HasNUW=*/true), inside);
  b_.CreateBr(header);
  b_.SetInsertPoint(after);
  Values results;
  for (std::size_t n = 0; n < sums.size(); ++n) {
    PHINode* const result = b_.CreatePHI(sums[n]->getType(), 2, "sum");
    result->addIncoming(sums[n], before);
    result->addIncoming(running[n], header);
    results.push_back(result);
  }
  return results;
}

}  // namespace dhpvm::codegen
