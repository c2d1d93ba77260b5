// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/absolute_differences.h"

#include <llvm/ADT/Sequence.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Local.h>

namespace dhpvm::codegen {
namespace {

using llvm::Value;
namespace pattern = llvm::PatternMatch;

constexpr unsigned kBytes = 16;  // in a vector of the instruction
constexpr unsigned kMostTerms = 64;

struct Difference {
  Value* left = nullptr;  // vectors of bytes
  Value* right = nullptr;
};
using Differences = llvm::SmallVector<Difference, 8>;

// The terms of a vector sum, if each is a vector of absolute differences of bytes.
bool find_differences(Value* sum, Differences& found) {
  Value* left = nullptr;
  Value* right = nullptr;
  if (found.size() < kMostTerms &&
      pattern::match(sum, pattern::m_Add(pattern::m_Value(left), pattern::m_Value(right))))
    return find_differences(left, found) && find_differences(right, found);
  const auto difference =
      pattern::m_Sub(pattern::m_ZExt(pattern::m_Value(left)), pattern::m_ZExt(pattern::m_Value(right)));
  const auto absolute = pattern::m_Intrinsic<llvm::Intrinsic::abs>(difference, pattern::m_Value());
  if (!pattern::match(sum, pattern::m_ZExtOrSelf(absolute))) return false;
  const auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(left->getType());
  if (type == nullptr) return false;
  const unsigned bytes = type->getNumElements();
  if (type != right->getType() || !type->getElementType()->isIntegerTy(8)) return false;
  if (bytes != kBytes / 2 && bytes != kBytes && bytes != 2 * kBytes) return false;
  found.push_back({left, right});
  return true;
}

// The terms of a sum of numbers; an addition with other users is a term.
void find_terms(Value* sum, bool is_root, llvm::SmallVectorImpl<Value*>& terms) {
  Value* left = nullptr;
  Value* right = nullptr;
  const bool is_inside = is_root || sum->hasOneUse();
  if (is_inside && terms.size() < kMostTerms &&
      pattern::match(sum, pattern::m_Add(pattern::m_Value(left), pattern::m_Value(right)))) {
    find_terms(left, false, terms);
    find_terms(right, false, terms);
  } else {
    terms.push_back(sum);
  }
}

// The next 16 bytes from `first`; zeros behind the vector's end.
Value* part_of(llvm::IRBuilder<>& b, Value* bytes, unsigned first) {
  llvm::SmallVector<int, kBytes> picks;
  for (const unsigned n : llvm::seq(0U, kBytes)) picks.push_back(static_cast<int>(first + n));
  return b.CreateShuffleVector(bytes, llvm::Constant::getNullValue(bytes->getType()), picks);
}

// <2 x i64>, whose elements add up to the sum of all differences.
Value* sum_of(llvm::IRBuilder<>& b, const Differences& differences) {
  Value* sum = nullptr;
  for (const Difference& difference : differences) {
    const unsigned bytes = llvm::cast<llvm::FixedVectorType>(difference.left->getType())->getNumElements();
    for (unsigned first = 0; first < bytes; first += kBytes) {
      Value* const part =
          b.CreateIntrinsic(llvm::Intrinsic::x86_sse2_psad_bw, {},
                            {part_of(b, difference.left, first), part_of(b, difference.right, first)});
      sum = sum == nullptr ? part : b.CreateAdd(sum, part);
    }
  }
  return sum;
}

// Replaces the sums of absolute differences among the terms of `root`. Whether there were any.
bool join(llvm::Instruction& root) {
  llvm::SmallVector<Value*, 16> terms;
  find_terms(&root, true, terms);
  Differences differences;
  llvm::SmallVector<Value*, 16> others;
  for (Value* term : terms) {
    Value* vector = nullptr;
    Differences of_term;
    if (pattern::match(term,
                       pattern::m_Intrinsic<llvm::Intrinsic::vector_reduce_add>(pattern::m_Value(vector))) &&
        find_differences(vector, of_term)) {
      differences.append(of_term);
    } else {
      others.push_back(term);
    }
  }
  if (differences.empty()) return false;
  llvm::IRBuilder<> b(&root);
  Value* const halves = sum_of(b, differences);
  Value* sum = b.CreateZExtOrTrunc(b.CreateAddReduce(halves), root.getType());
  for (Value* other : others) sum = b.CreateAdd(sum, other);
  root.replaceAllUsesWith(sum);
  return true;
}

// A sum that is no term of another one.
bool is_root(const llvm::Instruction& instruction) {
  if (!instruction.getType()->isIntegerTy()) return false;
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  const bool is_reduction = call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::vector_reduce_add;
  if (!is_reduction && instruction.getOpcode() != llvm::Instruction::Add) return false;
  return !instruction.hasOneUse() ||
         llvm::cast<llvm::Instruction>(*instruction.user_begin())->getOpcode() != llvm::Instruction::Add;
}

}  // namespace

void join_absolute_differences(llvm::Function& function, const llvm::TargetMachine& machine) {
  if (!machine.getTargetTriple().isX86()) return;
  llvm::SmallVector<llvm::WeakTrackingVH, 16> roots;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (is_root(instruction)) roots.emplace_back(&instruction);
  }
  for (const llvm::WeakTrackingVH& root : roots) {
    auto* const sum = llvm::dyn_cast_or_null<llvm::Instruction>(root);
    if (sum != nullptr && join(*sum)) llvm::RecursivelyDeleteTriviallyDeadInstructions(sum);
  }
}

}  // namespace dhpvm::codegen
