// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/second_body.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace dhpvm::codegen::spmd {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// The maximal number of lanes.
constexpr std::uint64_t kMostLanes = 64;

}  // namespace

llvm::SmallVector<llvm::BasicBlock*, 16> copy_blocks(llvm::ArrayRef<llvm::BasicBlock*> blocks,
                                                     const char* name, llvm::ValueToValueMapTy& copies) {
  llvm::SmallVector<llvm::BasicBlock*, 16> copied;
  for (llvm::BasicBlock* block : blocks) {
    copied.push_back(llvm::CloneBasicBlock(block, copies, llvm::Twine(".") + name, block->getParent()));
    copies[block] = copied.back();
  }
  llvm::remapInstructionsInBlocks(copied, copies);
  return copied;
}

bool can_be_early(const Value* value, unsigned depth) {
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

bool goes_up(const llvm::Type& type, Shape shape) {
  if (type.isIntegerTy(1) || !shape.is_affine() || shape.stride() <= 0) return false;
  const std::uint64_t largest = ~std::uint64_t{0} >> (65 - type.getIntegerBitWidth());
  return static_cast<std::uint64_t>(shape.stride()) <= largest / kMostLanes;
}

bool asks_about_lanes(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr &&
         (callee->getName().starts_with(kInFirstLane) || callee->getName().starts_with(kInLastLane));
}

SecondBody::SecondBody(llvm::Function& function, const char* name)
    : function_(function), old_entry_(function.getEntryBlock()) {
  llvm::SmallVector<BasicBlock*, 16> blocks;
  for (BasicBlock& block : function) blocks.push_back(&block);
  entry_ = BasicBlock::Create(function.getContext(), "question", &function, &old_entry_);
  // Both bodies share local arrays.
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(old_entry_)) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(*entry_, entry_->end());
  }
  builder_.SetInsertPoint(entry_);
  copied_ = copy_blocks(blocks, name, copies_);
}

Value* SecondBody::copy_of(Value* value) const {
  Value* const copy = copies_.lookup(value);
  return copy == nullptr ? value : copy;
}

Value* SecondBody::early(Value* value) {
  auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || instruction->getParent() == entry_) return value;
  if (Value* const made = early_.lookup(value); made != nullptr) return made;
  // Flags about the result may hold only at the original's position.
  const auto* const joined = llvm::dyn_cast<llvm::PossiblyDisjointInst>(instruction);
  llvm::Instruction* const copy =
      joined != nullptr && joined->isDisjoint()
          ? llvm::BinaryOperator::CreateAdd(joined->getOperand(0), joined->getOperand(1))
          : instruction->clone();
  copy->dropPoisonGeneratingAnnotations();
  copy->dropUBImplyingAttrsAndMetadata();
  for (llvm::Use& operand : copy->operands()) operand = early(operand);
  builder_.Insert(copy);
  return early_[value] = copy;
}

Value* SecondBody::ask(std::string_view question, Value* value) {
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

void SecondBody::choose_if(Value* condition) {
  llvm::MDBuilder metadata(builder_.getContext());
  builder_.CreateCondBr(condition, copied_.front(), &old_entry_, metadata.createLikelyBranchWeights());
}

}  // namespace dhpvm::codegen::spmd
