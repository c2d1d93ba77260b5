// SPDX-License-Identifier: Apache-2.0
// The part of a reducing loop's body that does not know the accumulators: iterations that compute it may run in any
// order, while what they give is added up in order.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

struct BodyTerms {
  // Like the body, but returns terms in the place of accumulators; null: the body does more with its accumulators
  // than to combine each with a term, at its end.
  llvm::Function* function = nullptr;
  // By reduction, in the body itself, which stays as it is.
  std::vector<llvm::BinaryOperator*> updates;
  std::vector<unsigned> positions;  // of the accumulators among their operands

  // The update's result for another accumulator and another term.
  llvm::Value* combine(llvm::IRBuilderBase& builder, std::size_t reduction, llvm::Value* accumulator,
                       llvm::Value* term) const;
};

// For a body that cannot trap.
BodyTerms split_terms(const KernelBody& body);

}  // namespace dhpvm::codegen
