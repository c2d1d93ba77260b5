// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/terms.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace dhpvm::codegen {

llvm::Value* BodyTerms::combine(llvm::IRBuilderBase& builder, std::size_t reduction, llvm::Value* accumulator,
                                llvm::Value* term) const {
  llvm::Instruction* const update = updates[reduction]->clone();
  update->setOperand(positions[reduction], accumulator);
  update->setOperand(1 - positions[reduction], term);
  return builder.Insert(update);
}

BodyTerms split_terms(const KernelBody& body) {
  llvm::Function& function = *body.function;
  llvm::ReturnInst* end = nullptr;
  for (llvm::BasicBlock& block : function) {
    if (auto* const found = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) end = found;
  }
  if (end == nullptr) return {};
  BodyTerms terms;
  const auto first = static_cast<unsigned>(function.arg_size() - body.accumulators.size());
  for (unsigned n = 0; n < body.accumulators.size(); ++n) {
    llvm::Argument* const accumulator = function.getArg(first + n);
    auto* const update = llvm::dyn_cast_or_null<llvm::BinaryOperator>(
        llvm::FindInsertedValue(end->getReturnValue(), {kAccumulators + n}));
    if (update == nullptr || !update->hasOneUse() || !accumulator->hasOneUse()) return {};
    if (accumulator->user_back() != update) return {};
    terms.updates.push_back(update);
    terms.positions.push_back(update->getOperand(0) == accumulator ? 0 : 1);
  }
  llvm::ValueToValueMapTy copies;
  terms.function = llvm::CloneFunction(&function, copies);
  terms.function->setName("terms");
  for (std::size_t n = 0; n < terms.updates.size(); ++n) {
    auto* const update = llvm::cast<llvm::Instruction>(copies[terms.updates[n]]);
    update->replaceAllUsesWith(update->getOperand(1 - terms.positions[n]));
    update->eraseFromParent();
  }
  terms.function->addFnAttr(llvm::Attribute::AlwaysInline);
  return terms;
}

}  // namespace dhpvm::codegen
