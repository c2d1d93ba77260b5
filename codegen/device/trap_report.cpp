// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/trap_report.h"

#include <llvm/IR/IRBuilder.h>

#include <cstddef>

#include "codegen/device/builtins.h"
#include "codegen/kernel_abi.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

enum Parameter : unsigned { kReport = 0, kSite = 1, kArray = 2, kIndex = 3, kOperands = 6, kCount = 9 };
constexpr char kFunction[] = "report_trap";
constexpr const char* kNames[] = {"report", "site",     "array",    "index0",  "index1",
                                  "index2", "operand0", "operand1", "operand2"};

class ReportTrap {
 public:
  explicit ReportTrap(llvm::Function& function) : b_(function.getContext()), function_(&function) {
    for (unsigned n = 0; n < kCount; ++n) function_->getArg(n)->setName(kNames[n]);
    function_->setLinkage(llvm::GlobalValue::InternalLinkage);
    function_->addFnAttr(llvm::Attribute::NoInline);
  }

  // If work-items run in lockstep, one that waits for the lock blocks the holder, unless the critical section is inside
  // the loop, in the branch of the successful attempt.
  //
  // If every iteration traps, nearly all of them come after a recorded one. These detect that without the lock. Records
  // only ever become earlier; their parts are written from the last index to the first, and read from the first to the
  // last, so that the record read is never earlier than the next complete one.
  void emit() {
    BasicBlock* const entry = block("entry");
    BasicBlock* const look = block("look");
    BasicBlock* const attempt = block("attempt");
    BasicBlock* const inside = block("inside");
    BasicBlock* const write = block("write");
    BasicBlock* const release = block("release");
    BasicBlock* const again = block("again");
    BasicBlock* const done = block("done");
    b_.SetInsertPoint(entry);
    b_.CreateCondBr(is_recorded(), look, attempt);

    b_.SetInsertPoint(look);
    call_builtin(b_, Builtin::kFence);
    b_.CreateCondBr(is_earlier(0), attempt, done);

    b_.SetInsertPoint(attempt);
    Value* const lock = field(offsetof(KernelReport, lock));
    constexpr auto kOrder = llvm::AtomicOrdering::SequentiallyConsistent;
    Value* const before = b_.CreateExtractValue(
        b_.CreateAtomicCmpXchg(lock, b_.getInt32(0), b_.getInt32(1), llvm::Align(4), kOrder, kOrder), 0);
    b_.CreateCondBr(b_.CreateICmpEQ(before, b_.getInt32(0)), inside, again);

    b_.SetInsertPoint(inside);
    call_builtin(b_, Builtin::kFence);
    b_.CreateCondBr(b_.CreateOr(b_.CreateNot(is_recorded()), is_earlier(0)), write, release);

    b_.SetInsertPoint(write);
    store(function_->getArg(kSite), kTrap + offsetof(KernelTrap, site));
    store(function_->getArg(kArray), kTrap + offsetof(KernelTrap, array));
    for (unsigned n = 0; n < 3; ++n) {
      store(function_->getArg(kOperands + n), kTrap + offsetof(KernelTrap, operands) + 8 * n);
    }
    for (unsigned n = 3; n-- > 0;) {
      store(function_->getArg(kIndex + n), kTrap + offsetof(KernelTrap, index) + 8 * n);
      call_builtin(b_, Builtin::kFence);
    }
    store(b_.getInt32(kTrapped), offsetof(KernelReport, status));
    b_.CreateBr(release);

    b_.SetInsertPoint(release);
    call_builtin(b_, Builtin::kFence);
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, b_.getInt32(0), llvm::Align(4), kOrder);
    b_.CreateBr(again);

    b_.SetInsertPoint(again);
    llvm::PHINode* const is_done = b_.CreatePHI(b_.getInt1Ty(), 2, "is_done");
    is_done->addIncoming(b_.getFalse(), attempt);
    is_done->addIncoming(b_.getTrue(), release);
    b_.CreateCondBr(is_done, done, attempt);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  static constexpr std::uint64_t kTrap = offsetof(KernelReport, trap);
  static constexpr auto kTrapped = static_cast<std::uint32_t>(KernelStatus::kTrapped);

  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, function_); }
  Value* field(std::uint64_t offset) {
    return b_.CreateGEP(b_.getInt8Ty(), function_->getArg(kReport), b_.getInt64(offset));
  }
  // Volatile, because caches that serve a part of the device may be stale.
  Value* load(llvm::Type* type, std::uint64_t offset) {
    return b_.CreateLoad(type, field(offset), /*isVolatile=*/true);
  }
  void store(Value* value, std::uint64_t offset) {
    b_.CreateStore(value, field(offset), /*isVolatile=*/true);
  }
  Value* is_recorded() {
    Value* const status = load(b_.getInt32Ty(), offsetof(KernelReport, status));
    return b_.CreateICmpEQ(status, b_.getInt32(kTrapped));
  }
  // Whether the iteration precedes the recorded one, by the dimensions from `d` on.
  Value* is_earlier(unsigned d) {
    Value* const recorded = load(b_.getInt64Ty(), kTrap + offsetof(KernelTrap, index) + 8 * d);
    Value* const index = function_->getArg(kIndex + d);
    if (d == 2) return b_.CreateICmpSLT(index, recorded);
    call_builtin(b_, Builtin::kFence);
    Value* const rest = b_.CreateAnd(b_.CreateICmpEQ(index, recorded), is_earlier(d + 1));
    return b_.CreateOr(b_.CreateICmpSLT(index, recorded), rest);
  }

  llvm::IRBuilder<> b_;
  llvm::Function* const function_;
};

}  // namespace

llvm::FunctionCallee declare_report_trap(llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::SmallVector<llvm::Type*> types = {b.getPtrTy(kGlobalSpace), b.getInt32Ty(), b.getInt32Ty()};
  types.append(kCount - types.size(), b.getInt64Ty());
  llvm::FunctionCallee declared =
      module.getOrInsertFunction(kFunction, llvm::FunctionType::get(b.getVoidTy(), types, false));
  llvm::cast<llvm::Function>(declared.getCallee())->setDoesNotThrow();
  return declared;
}

void define_report_trap(llvm::Module& module) {
  llvm::Function* const declared = module.getFunction(kFunction);
  if (declared == nullptr) return;
  if (declared->use_empty()) {
    declared->eraseFromParent();
    return;
  }
  // Operands that a site does not have.
  for (llvm::User* const user : declared->users()) {
    for (llvm::Use& argument : llvm::cast<llvm::CallBase>(user)->args()) {
      if (llvm::isa<llvm::UndefValue>(argument))
        argument.set(llvm::Constant::getNullValue(argument->getType()));
    }
  }
  ReportTrap(*declared).emit();
}

}  // namespace dhpvm::codegen
