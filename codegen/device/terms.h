// SPDX-License-Identifier: Apache-2.0
// The part of a reducing loop's body that does not depend on the accumulators: iterations may compute it in any order,
// while the results are combined in order.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

struct BodyTerms {
  // Like the body, but returns the terms instead of accumulators; null: the body uses its accumulators for more than
  // combining each with a term at its end.
  llvm::Function* function = nullptr;
  // By reduction: the combining operation in the original body, which is unchanged.
  std::vector<llvm::BinaryOperator*> updates;
  std::vector<unsigned> positions;  // of the accumulators among their operands

  // The update applied to another accumulator and term.
  llvm::Value* combine(llvm::IRBuilderBase& builder, std::size_t reduction, llvm::Value* accumulator,
                       llvm::Value* term) const;
};

// For a body that cannot trap.
BodyTerms split_terms(const KernelBody& body);

}  // namespace dhpvm::codegen
