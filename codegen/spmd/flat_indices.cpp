// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/flat_indices.h"

#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/divergence.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/second_body.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::BinaryOperator;
using llvm::Value;

// More different row lengths than programs use.
constexpr std::size_t kMostDivisors = 4;

bool is_quotient(const BinaryOperator& division) {
  return division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::UDiv;
}
// The divisor of `division` if that is more than 0: the lowering handles -1 separately.
Value* length_of(const BinaryOperator& division) {
  Value* const divisor = division.getOperand(1);
  const auto* select = llvm::dyn_cast<llvm::SelectInst>(divisor);
  const auto* compare = select == nullptr ? nullptr : llvm::dyn_cast<llvm::ICmpInst>(select->getCondition());
  if (compare == nullptr || compare->getPredicate() != llvm::ICmpInst::ICMP_EQ) return divisor;
  const auto is = [](const Value* value, std::int64_t number) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant != nullptr && constant->getValue().getSExtValue() == number;
  };
  Value* const length = compare->getOperand(0);
  const bool is_apart =
      is(compare->getOperand(1), -1) && is(select->getTrueValue(), 1) && select->getFalseValue() == length;
  return is_apart ? length : divisor;
}

// Whether an address depends on `division`: only then does the test pay.
bool leads_to_address(const llvm::Instruction& division) {
  llvm::SmallVector<const llvm::Instruction*, 16> work{&division};
  llvm::SmallPtrSet<const llvm::Instruction*, 16> seen;
  while (!work.empty()) {
    const llvm::Instruction* from = work.pop_back_val();
    if (!seen.insert(from).second) continue;
    for (const llvm::User* user : from->users()) {
      const auto* next = llvm::cast<llvm::Instruction>(user);
      if (llvm::getLoadStorePointerOperand(next) == from) return true;
      if (llvm::isa<BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst, llvm::PHINode, llvm::SelectInst,
                    llvm::CallInst>(next) &&
          !next->getType()->isVoidTy())
        work.push_back(next);
    }
  }
  return false;
}

// Divisions of an index that increases from lane to lane, by a uniform value.
llvm::SmallVector<BinaryOperator*, 8> find_divisions(llvm::Function& function,
                                                     const std::vector<ArgShape>& args) {
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  const Regions regions(function, loops);
  const Divergence divergence(function, regions, args);
  llvm::SmallVector<BinaryOperator*, 8> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!instruction.isIntDivRem()) continue;
    auto& division = llvm::cast<BinaryOperator>(instruction);
    Value* const index = division.getOperand(0);
    Value* const length = length_of(division);
    if (!goes_up(*index->getType(), divergence.shape(index)) || !divergence.shape(length).is_uniform())
      continue;
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(length);
    if (constant != nullptr && constant->getValue().slt(static_cast<std::int64_t>(kThresholds.shortest_row)))
      continue;
    if (can_be_early(index) && can_be_early(length) && leads_to_address(division)) found.push_back(&division);
  }
  return found;
}

// The second body, in which all lanes are in one row, and the test before both.
class RowBody {
 public:
  explicit RowBody(llvm::Function& function) : body_(function, "row"), builder_(body_.builder()) {}

  void split(llvm::ArrayRef<BinaryOperator*> divisions) {
    Value* all_in_row = builder_.getTrue();
    for (BinaryOperator* division : divisions) {
      Value* const index = body_.early(division->getOperand(0));
      const Row row = row_of(index, body_.early(length_of(*division)));
      all_in_row = builder_.CreateAnd(all_in_row, row.holds_all);
      auto* const copy = llvm::cast<llvm::Instruction>(body_.copy_of(division));
      llvm::IRBuilder<> at(copy);
      Value* const result =
          is_quotient(*division) ? row.number : at.CreateSub(copy->getOperand(0), row.begin);
      copy->replaceAllUsesWith(result);
      copy->eraseFromParent();
    }
    for (BinaryOperator* division : divisions) forget_exceptions(length_of(*division));
    body_.choose_if(all_in_row);
  }

 private:
  struct Row {
    Value* number;
    Value* begin;
    Value* holds_all;  // whether it contains all lanes
  };

  // Zero and negative numbers, for which divisions trap or are handled separately, are not lengths of rows.
  void forget_exceptions(Value* length) {
    length = body_.copy_of(length);
    llvm::SmallVector<std::pair<llvm::WeakTrackingVH, bool>, 4> known;
    for (llvm::User* user : length->users()) {
      auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(user);
      if (compare == nullptr || !llvm::is_contained(body_.blocks(), compare->getParent())) continue;
      const auto* number = llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1));
      if (compare->isEquality() && number != nullptr && !number->getValue().isStrictlyPositive())
        known.emplace_back(compare, compare->getPredicate() == llvm::ICmpInst::ICMP_NE);
    }
    for (auto& [compare, value] : known) {
      if (compare == nullptr) continue;
      llvm::replaceAndRecursivelySimplify(llvm::cast<llvm::Instruction>(compare), builder_.getInt1(value));
    }
    for (BasicBlock* block : body_.blocks())
      llvm::ConstantFoldTerminator(block, /*DeleteDeadConditions=*/true);
  }

  // For nonnegative numbers, and lengths of at least 1, signed and unsigned divisions agree.
  Row row_of(Value* index, Value* length) {
    for (const auto& [other_index, other_length, row] : rows_) {
      if (other_index == index && other_length == length) return row;
    }
    llvm::Type* const type = index->getType();
    Value* const zero = llvm::ConstantInt::get(type, 0);
    Value* const first = body_.ask(kInFirstLane, index);
    Value* const last = body_.ask(kInLastLane, index);
    Value* const divisor =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, length, llvm::ConstantInt::get(type, 1));
    Row row;
    row.number = builder_.CreateUDiv(first, divisor);
    row.begin = builder_.CreateMul(row.number, divisor);
    row.holds_all = builder_.CreateAnd(
        builder_.CreateAnd(builder_.CreateICmpSGE(first, zero), builder_.CreateICmpSGE(last, first)),
        builder_.CreateAnd(builder_.CreateICmpSGT(length, zero),
                           builder_.CreateICmpULT(builder_.CreateSub(last, row.begin), divisor)));
    rows_.push_back({index, length, row});
    return row;
  }

  struct Known {
    Value* index;
    Value* length;
    Row row;
  };

  SecondBody body_;
  llvm::IRBuilder<>& builder_;
  std::vector<Known> rows_;
};

}  // namespace

llvm::Function* split_flat_indices(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  if (scalar.getInstructionCount() > kThresholds.second_body) return nullptr;
  const auto divisions = find_divisions(scalar, args);
  if (divisions.empty() || divisions.size() > 2 * kMostDivisors) return nullptr;
  llvm::ValueToValueMapTy copies;
  llvm::Function* const made = llvm::CloneFunction(&scalar, copies);
  llvm::SmallVector<BinaryOperator*, 8> copied;
  for (BinaryOperator* division : divisions) copied.push_back(llvm::cast<BinaryOperator>(&*copies[division]));
  RowBody(*made).split(copied);
  bring_into_form(*made);
  return made;
}

}  // namespace dhpvm::codegen::spmd
