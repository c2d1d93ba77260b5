// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/kernel_traps.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstddef>

#include "codegen/kernel_abi.h"

namespace dhpvm::codegen {

void define_trap(llvm::Function& trap, unsigned innermost) {
  llvm::LLVMContext& context = trap.getContext();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", &trap));
  llvm::BasicBlock* const first = llvm::BasicBlock::Create(context, "first", &trap);
  llvm::BasicBlock* const done = llvm::BasicBlock::Create(context, "done", &trap);
  const auto place = [&](std::uint64_t offset) {
    return b.CreateInBoundsGEP(b.getInt8Ty(), trap.getArg(0), b.getInt64(offset));
  };
  const std::uint64_t index = offsetof(KernelTrap, index) + std::uint64_t{8} * innermost;
  llvm::Value* const kept = b.CreateLoad(b.getInt64Ty(), place(index));
  b.CreateCondBr(b.CreateICmpSLT(trap.getArg(1), kept), first, done);
  b.SetInsertPoint(first);
  b.CreateStore(trap.getArg(1), place(index));
  b.CreateStore(trap.getArg(2), place(offsetof(KernelTrap, site)));
  b.CreateStore(trap.getArg(3), place(offsetof(KernelTrap, array)));
  for (unsigned n = 0; n < 3; ++n)
    b.CreateStore(trap.getArg(4 + n), place(offsetof(KernelTrap, operands) + std::uint64_t{8} * n));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

void note_traps(llvm::Function& loop, llvm::Function& body, const llvm::Function& trap,
                llvm::AllocaInst* trapped) {
  for (llvm::User* user : llvm::make_early_inc_range(body.users())) {
    llvm::InlineFunctionInfo info;
    llvm::InlineFunction(*llvm::cast<llvm::CallInst>(user), info);
  }
  for (llvm::Instruction& instruction : llvm::instructions(loop)) {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || call->getCalledFunction() != &trap) continue;
    llvm::IRBuilder<> b(instruction.getNextNode());
    b.CreateStore(b.getTrue(), trapped);
  }
}

}  // namespace dhpvm::codegen
