// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/wide_products.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/device/builtins.h"

namespace dhpvm::codegen {
namespace {

using llvm::Value;
namespace pattern = llvm::PatternMatch;

// The 64-bit value that was extended to 128 bits; null if there is none.
Value* narrow_factor(Value* wide, llvm::IRBuilderBase& b) {
  Value* narrow = nullptr;
  if (pattern::match(wide, pattern::m_ZExt(pattern::m_Value(narrow))) && narrow->getType()->isIntegerTy(64))
    return narrow;
  if (const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(wide)) {
    if (constant->getValue().isIntN(64)) return b.getInt(constant->getValue().trunc(64));
  }
  return nullptr;
}

}  // namespace

void replace_wide_products(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    Value* left = nullptr;
    Value* right = nullptr;
    if (!pattern::match(&instruction, pattern::m_Trunc(pattern::m_LShr(
                                          pattern::m_Mul(pattern::m_Value(left), pattern::m_Value(right)),
                                          pattern::m_SpecificInt(64))))) {
      continue;
    }
    llvm::IRBuilder<> b(&instruction);
    left = narrow_factor(left, b);
    right = narrow_factor(right, b);
    if (left == nullptr || right == nullptr || !instruction.getType()->isIntegerTy(64)) continue;
    instruction.replaceAllUsesWith(call_mul_high(b, left, right));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(&instruction);
  }
}

}  // namespace dhpvm::codegen
