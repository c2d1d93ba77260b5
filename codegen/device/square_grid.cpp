// SPDX-License-Identifier: Apache-2.0
// Squares of iterations: one for each group at a time. Incomplete squares at the edges of the space are distributed
// over their group iteration by iteration.
#include "codegen/device/loop_emitter.h"
#include "codegen/group_work.h"

namespace dhpvm::codegen {

// Whether the grid was made for squares. Kernels with squares accept other grids, too, and vice versa.
llvm::Value* LoopEmitter::has_squares() {
  Value* const group = i64(kSquareGroup);
  Value* squares = b_.CreateICmpEQ(call_builtin(b_, Builtin::kLocalSize, 0), group);
  squares = b_.CreateAnd(squares, b_.CreateICmpEQ(call_builtin(b_, Builtin::kLocalSize, 1), group));
  Value* const items = b_.CreateMul(call_builtin(b_, Builtin::kGroupCount, 0), group);
  return b_.CreateAnd(squares, b_.CreateICmpULT(items, extent_[inner_]));
}

void LoopEmitter::emit_square_dimension(unsigned d) {
  const unsigned axis = inner_ - d;
  Value* const side = i64(axis == 2 ? 1 : kSquareSide);
  Value* const first = b_.CreateMul(call_builtin(b_, Builtin::kGroupId, axis), side);
  Value* const step = b_.CreateMul(call_builtin(b_, Builtin::kGroupCount, axis), side);
  for_indices(first, extent_[d], d, step, [&](Value* offset) {
    first_[d] = index_[d];
    count_[d] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, side, b_.CreateSub(extent_[d], offset));
    if (d < inner_) {
      emit_square_dimension(d + 1);
    } else {
      emit_square();
    }
  });
}

void LoopEmitter::emit_square() {
  // Each square recomputes values based on it, to free registers for the work-item's results and operands.
  const auto id = [&](unsigned axis) {
    Value* const number = b_.CreateTrunc(call_builtin(b_, Builtin::kLocalId, axis), b_.getInt32Ty());
    // Hides the range from the optimiser, too.
    Value* const small = b_.CreateURem(call_opaque(b_, number), b_.getInt32(kSquareGroup));
    return b_.CreateZExt(small, b_.getInt64Ty());
  };
  Value* const row = id(1);
  Value* const column = id(0);
  BasicBlock* const whole = block("whole");
  BasicBlock* const part = block("part");
  BasicBlock* const after = block("after");
  Value* const side = i64(kSquareSide);
  b_.CreateCondBr(
      b_.CreateAnd(b_.CreateICmpEQ(count_[inner_ - 1], side), b_.CreateICmpEQ(count_[inner_], side)), whole,
      part);
  b_.SetInsertPoint(whole);
  llvm::SmallVector<Value*> arguments = arguments_of_body();
  arguments.append({b_.CreateMul(row, i64(kSquareRows)), column});
  b_.CreateCall(form_.square, arguments);
  b_.CreateBr(after);

  b_.SetInsertPoint(part);
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); };
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
  Value* const item = b_.CreateAdd(b_.CreateMul(row, i64(kSquareGroup)), column);
  Value* const width = count_[inner_];
  Value* const count = b_.CreateMul(count_[inner_ - 1], width);
  counted(item, count, i64(kSquareItems), [&](Value* number) {
    Value* const place = narrow(number);
    index_[inner_ - 1] = b_.CreateAdd(first_[inner_ - 1], wide(b_.CreateUDiv(place, narrow(width))));
    index_[inner_] = b_.CreateAdd(first_[inner_], wide(b_.CreateURem(place, narrow(width))));
    call_body({}, leaving());
  });
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace dhpvm::codegen
