// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/flat_indices.h"

#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/divergence.h"
#include "codegen/spmd/second_body.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::BinaryOperator;
using llvm::Value;

// More ways to take an index apart than programs have.
constexpr std::size_t kMostDivisors = 4;
// There are no more lanes than these.
constexpr std::uint64_t kMostLanes = 64;
// Lanes are seldom in one row of so few elements.
constexpr std::uint64_t kShortestRow = 64;

bool is_quotient(const BinaryOperator& division) {
  return division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::UDiv;
}
// By what `division` divides if that is more than 0: the processor does not divide by -1, which is done apart.
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

// Whether `value` can be computed at the beginning of the function, in whatever lanes, and costs little.
bool can_be_early(const Value* value, unsigned depth = 6) {
  if (llvm::isa<llvm::Constant, llvm::Argument>(value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == 0 || llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction))
    return false;
  if (instruction->mayReadFromMemory() && !instruction->hasMetadata(llvm::LLVMContext::MD_invariant_load))
    return false;
  if (!llvm::isSafeToSpeculativelyExecute(instruction)) return false;
  return llvm::all_of(instruction->operands(),
                      [&](const Value* operand) { return can_be_early(operand, depth - 1); });
}

// Whether an index of this type and shape goes up from lane to lane, but where it wraps, which it does once
// at most. One that steps further may be back in a row at last, and elsewhere in between.
bool goes_up(const llvm::Type& type, Shape shape) {
  if (!shape.is_affine() || shape.stride() <= 0) return false;
  const std::uint64_t largest = ~std::uint64_t{0} >> (65 - type.getIntegerBitWidth());
  return static_cast<std::uint64_t>(shape.stride()) <= largest / kMostLanes;
}

// Whether some address depends on `division`: only that makes it worth asking.
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

// The divisions of an index that goes up from lane to lane, by something that they share.
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
    if (constant != nullptr && constant->getValue().slt(kShortestRow)) continue;
    if (can_be_early(index) && can_be_early(length) && leads_to_address(division)) found.push_back(&division);
  }
  return found;
}

// The second body, and the question in front of both.
class Splitter {
 public:
  explicit Splitter(llvm::Function& function) : function_(function), old_entry_(function.getEntryBlock()) {
    for (BasicBlock& block : function) blocks_.push_back(&block);
    entry_ = BasicBlock::Create(function.getContext(), "rows", &function, &old_entry_);
    // Local arrays belong to both.
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(old_entry_)) {
      if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(*entry_, entry_->end());
    }
    builder_.SetInsertPoint(entry_);
  }

  void split(llvm::ArrayRef<BinaryOperator*> divisions) {
    copied_ = copy_blocks(blocks_, "row", copies_);
    Value* all_in_row = builder_.getTrue();
    for (BinaryOperator* division : divisions) {
      Value* const index = early(division->getOperand(0));
      const Row row = row_of(index, early(length_of(*division)));
      all_in_row = builder_.CreateAnd(all_in_row, row.holds_all);
      auto* const copy = llvm::cast<llvm::Instruction>(&*copies_[division]);
      llvm::IRBuilder<> at(copy);
      Value* const result =
          is_quotient(*division) ? row.number : at.CreateSub(copy->getOperand(0), row.begin);
      copy->replaceAllUsesWith(result);
      copy->eraseFromParent();
    }
    for (BinaryOperator* division : divisions) forget_exceptions(length_of(*division));
    llvm::MDBuilder metadata(builder_.getContext());
    builder_.CreateCondBr(all_in_row, copied_.front(), &old_entry_, metadata.createLikelyBranchWeights());
  }

 private:
  struct Row {
    Value* number;
    Value* begin;
    Value* holds_all;  // whether all lanes are in it
  };

  // Zero and less, for which divisions trap or are done in another way, are no lengths of rows.
  void forget_exceptions(Value* length) {
    if (Value* const copy = copies_.lookup(length); copy != nullptr) length = copy;
    llvm::SmallVector<std::pair<llvm::WeakTrackingVH, bool>, 4> known;
    for (llvm::User* user : length->users()) {
      auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(user);
      if (compare == nullptr || !llvm::is_contained(copied_, compare->getParent())) continue;
      const auto* number = llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1));
      if (compare->isEquality() && number != nullptr && !number->getValue().isStrictlyPositive())
        known.emplace_back(compare, compare->getPredicate() == llvm::ICmpInst::ICMP_NE);
    }
    for (auto& [compare, value] : known) {
      if (compare == nullptr) continue;
      llvm::replaceAndRecursivelySimplify(llvm::cast<llvm::Instruction>(compare), builder_.getInt1(value));
    }
    for (BasicBlock* block : copied_) llvm::ConstantFoldTerminator(block, /*DeleteDeadConditions=*/true);
  }

  // A copy of what `value` is computed from.
  Value* early(Value* value) {
    auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || instruction->getParent() == entry_) return value;
    Value*& made = early_[value];
    if (made != nullptr) return made;
    // Facts that flags state about the result may hold only where the original stands.
    const auto* const joined = llvm::dyn_cast<llvm::PossiblyDisjointInst>(instruction);
    llvm::Instruction* const copy =
        joined != nullptr && joined->isDisjoint()
            ? BinaryOperator::CreateAdd(joined->getOperand(0), joined->getOperand(1))
            : instruction->clone();
    copy->dropPoisonGeneratingAnnotations();
    copy->dropUBImplyingAttrsAndMetadata();
    for (llvm::Use& operand : copy->operands()) operand = early(operand);
    builder_.Insert(copy);
    return early_[value] = copy;
  }

  Value* ask(std::string_view question, Value* value) {
    llvm::Type* const type = value->getType();
    const std::string name = std::string(question) + ".i" + std::to_string(type->getIntegerBitWidth());
    llvm::AttrBuilder attributes(builder_.getContext());
    attributes.addMemoryAttr(llvm::MemoryEffects::none())
        .addAttribute(llvm::Attribute::WillReturn)
        .addAttribute(llvm::Attribute::NoUnwind);
    const auto list =
        llvm::AttributeList::get(builder_.getContext(), llvm::AttributeList::FunctionIndex, attributes);
    return builder_.CreateCall(
        function_.getParent()->getOrInsertFunction(name, llvm::FunctionType::get(type, {type}, false), list),
        {value});
  }

  // For numbers from 0 on, and a length from 1 on, it makes no difference whether a division has signs.
  Row row_of(Value* index, Value* length) {
    for (const auto& [other_index, other_length, row] : rows_) {
      if (other_index == index && other_length == length) return row;
    }
    llvm::Type* const type = index->getType();
    Value* const zero = llvm::ConstantInt::get(type, 0);
    Value* const first = ask(kInFirstLane, index);
    Value* const last = ask(kInLastLane, index);
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

  llvm::Function& function_;
  BasicBlock& old_entry_;
  BasicBlock* entry_;
  llvm::IRBuilder<> builder_{function_.getContext()};
  llvm::SmallVector<BasicBlock*, 16> blocks_;
  llvm::SmallVector<BasicBlock*, 16> copied_;
  llvm::ValueToValueMapTy copies_;
  llvm::DenseMap<Value*, Value*> early_;
  std::vector<Known> rows_;
};

}  // namespace

bool asks_about_lanes(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr &&
         (callee->getName().starts_with(kInFirstLane) || callee->getName().starts_with(kInLastLane));
}

llvm::Function* split_flat_indices(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  if (scalar.getInstructionCount() > kLargestSecondBody) return nullptr;
  const auto divisions = find_divisions(scalar, args);
  if (divisions.empty() || divisions.size() > 2 * kMostDivisors) return nullptr;
  llvm::ValueToValueMapTy copies;
  llvm::Function* const made = llvm::CloneFunction(&scalar, copies);
  llvm::SmallVector<BinaryOperator*, 8> copied;
  for (BinaryOperator* division : divisions) copied.push_back(llvm::cast<BinaryOperator>(&*copies[division]));
  Splitter(*made).split(copied);
  bring_into_form(*made);
  return made;
}

}  // namespace dhpvm::codegen::spmd
