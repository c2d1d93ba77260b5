// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/returns.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace dhpvm::codegen::spmd {
namespace {

llvm::Value* merge_values(llvm::ArrayRef<llvm::ReturnInst*> returns, llvm::IRBuilder<>& builder,
                          llvm::Type* type) {
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  const unsigned elements = structure == nullptr ? 1 : structure->getNumElements();
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  for (unsigned i = 0; i < elements; ++i) {
    llvm::Type* element = structure == nullptr ? type : structure->getElementType(i);
    phis.push_back(builder.CreatePHI(element, static_cast<unsigned>(returns.size())));
    for (llvm::ReturnInst* from : returns) {
      llvm::Value* value = from->getReturnValue();
      if (structure != nullptr) {
        llvm::Value* found = llvm::FindInsertedValue(value, {i});
        value = found != nullptr ? found : llvm::IRBuilder<>(from).CreateExtractValue(value, i);
      }
      phis.back()->addIncoming(value, from->getParent());
    }
  }
  if (structure == nullptr) return phis[0];
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < elements; ++i) result = builder.CreateInsertValue(result, phis[i], i);
  return result;
}

}  // namespace

void merge_returns(llvm::Function& function) {
  llvm::SmallVector<llvm::ReturnInst*, 8> returns;
  for (llvm::BasicBlock& block : function) {
    if (auto* found = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) returns.push_back(found);
  }
  if (returns.size() < 2) return;
  llvm::BasicBlock* merged = llvm::BasicBlock::Create(function.getContext(), "return", &function);
  llvm::IRBuilder<> builder(merged);
  if (function.getReturnType()->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(merge_values(returns, builder, function.getReturnType()));
  }
  for (llvm::ReturnInst* from : returns) {
    llvm::BranchInst::Create(merged, from->getParent());
    from->eraseFromParent();
  }
}

}  // namespace dhpvm::codegen::spmd
