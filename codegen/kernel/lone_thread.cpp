// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/lone_thread.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include <cstddef>

#include "codegen/kernel_abi.h"

namespace dhpvm::codegen {
namespace {

// Copies of functions without atomic updates.
class PlainForms {
 public:
  // The copy of `function`; the function itself if neither it nor its callees have updates.
  llvm::Function* of(llvm::Function& function) {
    if (function.isDeclaration()) return &function;
    if (llvm::Function* const known = made_.lookup(&function)) return known;
    bool differs = false;
    llvm::ValueToValueMapTy copies;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      differs |= llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction);
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee == nullptr) continue;
      llvm::Function* const plain = of(*callee);
      if (plain == callee) continue;
      copies[callee] = plain;
      differs = true;
    }
    return made_[&function] = differs ? copy(function, copies) : &function;
  }

 private:
  static llvm::Function* copy(llvm::Function& function, llvm::ValueToValueMapTy& copies) {
    llvm::Function* const made = llvm::CloneFunction(&function, copies);
    made->setName(function.getName() + ".alone");
    made->setLinkage(llvm::GlobalValue::InternalLinkage);
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(*made))) {
      if (auto* const update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
        llvm::lowerAtomicRMWInst(update);
      } else if (auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
        llvm::lowerAtomicCmpXchgInst(exchange);
      }
    }
    return made;
  }

  llvm::DenseMap<llvm::Function*, llvm::Function*> made_;
};

}  // namespace

void serve_lone_thread(llvm::Function& kernel) {
  llvm::Function* const alone = PlainForms().of(kernel);
  if (alone == &kernel) return;
  llvm::Function* const chosen =
      llvm::Function::Create(kernel.getFunctionType(), kernel.getLinkage(), "", kernel.getParent());
  chosen->takeName(&kernel);
  chosen->copyAttributesFrom(&kernel);
  kernel.setName(chosen->getName() + ".together");
  kernel.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(kernel.getContext(), "entry", chosen));
  llvm::Value* const address =
      b.CreateInBoundsGEP(b.getInt8Ty(), chosen->getArg(1), b.getInt64(offsetof(KernelChunk, alone)));
  llvm::Value* const is_alone = b.CreateIsNotNull(b.CreateLoad(b.getInt32Ty(), address));
  const auto run = [&](llvm::Function* form, const char* name) {
    llvm::BasicBlock* const block = llvm::BasicBlock::Create(kernel.getContext(), name, chosen);
    llvm::IRBuilder<> at(block);
    at.CreateRet(at.CreateCall(form, {chosen->getArg(0), chosen->getArg(1)}));
    return block;
  };
  llvm::BasicBlock* const lone = run(alone, "alone");
  b.CreateCondBr(is_alone, lone, run(&kernel, "together"));
}

}  // namespace dhpvm::codegen
