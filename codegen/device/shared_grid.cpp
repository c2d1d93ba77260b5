// SPDX-License-Identifier: Apache-2.0
// Iterations that groups share: each has one group, or several if there are more groups than iterations. Their
// work-items share its turns.
#include "codegen/device/loop_emitter.h"

namespace dhpvm::codegen {

void LoopEmitter::emit_shared() {
  // The turn numbers that shared_turns.h stores for a trap follow the index.
  llvm::AllocaInst* const place = entry_alloca(llvm::ArrayType::get(b_.getInt64Ty(), 2), "place");
  const auto part = [&](unsigned n) { return b_.CreateInBoundsGEP(b_.getInt64Ty(), place, i64(n)); };
  Value* const count = product(Builtin::kGroupCount);
  Value* const group = linear(Builtin::kGroupId, Builtin::kGroupCount);
  Value* const share = b_.CreateUDiv(count, extent_[0]);
  Value* const groups = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, share, i64(1), nullptr, "groups");
  Value* const in_share = b_.CreateMul(b_.CreateURem(group, groups), call_builtin(b_, Builtin::kLocalSize));
  Value* const item = b_.CreateAdd(in_share, call_builtin(b_, Builtin::kLocalId), "item");
  // Surplus groups, fewer than a full share, get numbers beyond the end.
  counted(b_.CreateUDiv(group, groups), extent_[0], b_.CreateUDiv(count, groups), [&](Value* offset) {
    index_[0] = b_.CreateAdd(low_[0], offset, "i");
    for (unsigned n = 0; n < 2; ++n) b_.CreateStore(i64(0), part(n));
    llvm::SmallVector<Value*> arguments = arguments_of_body();
    arguments.append({item, groups, place});
    Value* const result = b_.CreateCall(form_.shared, arguments);
    if (body_.sites.empty()) return;
    BasicBlock* const after = block("after");
    leave_if_trapped(result, after, [&] {
      for (unsigned n = 0; n < 2; ++n) index_[n + 1] = b_.CreateLoad(b_.getInt64Ty(), part(n));
    });
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  });
}

}  // namespace dhpvm::codegen
