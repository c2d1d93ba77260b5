// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/variables.h"

#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "codegen/device/opencl/calls.h"

namespace dhpvm::codegen::opencl {

using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

namespace {

// The largest number of instructions in one expression: more would be unreadable.
constexpr unsigned kLargestExpression = 10;

const Instruction* only_user(const Instruction& instruction) {
  return instruction.hasOneUse() ? llvm::cast<Instruction>(*instruction.user_begin()) : nullptr;
}

}  // namespace

// The address of element 0 of an array, of the partial results or of the report: a buffer plus its offset, both
// arguments of the kernel. It has a variable, so that compilers see a pointer and indices at every access, not a sum
// added to a pointer.
bool is_base(const Value& value) {
  const auto* const step = dyn_cast<llvm::GetElementPtrInst>(&value);
  return step != nullptr && isa<llvm::Argument>(step->getPointerOperand()) && step->getNumIndices() == 1 &&
         isa<llvm::Argument>(step->getOperand(1));
}

Variables::Variables(const llvm::Function& function) {
  pair_sines(function);
  choose_inline(function);
  choose_names(function);
}

void Variables::pair_sines(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    llvm::DenseMap<const Value*, const llvm::CallInst*> sines;  // by their argument
    for (const Instruction& instruction : block) {
      const auto* const call = dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || call->arg_size() != 1) continue;
      const Value* const argument = call->getArgOperand(0);
      if (is_sine(*call)) sines[argument] = call;
      if (!is_cosine(*call)) continue;
      const llvm::CallInst* const sine = sines.lookup(argument);
      if (sine != nullptr && sines_.try_emplace(sine, call).second) cosines_.insert(call);
    }
  }
}

bool Variables::can_be_inline(const Instruction& instruction) const {
  if (instruction.getType()->isVoidTy() || isa<llvm::PHINode>(instruction) ||
      isa<llvm::AllocaInst>(instruction) || is_base(instruction)) {
    return false;
  }
  if (instruction.isAtomic() || instruction.isVolatile() || instruction.mayWriteToMemory()) return false;
  if (sines_.contains(&instruction) || cosines_.contains(&instruction)) return false;
  const Instruction* const user = only_user(instruction);
  if (user == nullptr) return false;
  // A phi uses its operand at the end of the predecessor.
  if (const auto* const phi = dyn_cast<llvm::PHINode>(user)) {
    return phi->getIncomingBlock(*instruction.use_begin()) == instruction.getParent();
  }
  return user->getParent() == instruction.getParent();
}

// Whether it is an address that is printed several times, or in another block.
bool Variables::is_repeated_address(const Instruction& instruction) const {
  if (!isa<llvm::GetElementPtrInst>(instruction)) return false;
  return !can_be_inline(instruction) || is_repeated_address(*only_user(instruction));
}

void Variables::choose_inline(const llvm::Function& function) {
  llvm::DenseMap<const Instruction*, unsigned> weights;
  for (const llvm::BasicBlock& block : function) {
    for (const Instruction& instruction : block) {
      unsigned weight = 1;
      for (const Value* operand : instruction.operands()) {
        if (const auto* const other = dyn_cast<Instruction>(operand); other != nullptr && is_inline(*other)) {
          weight += weights[other];
        }
      }
      weights[&instruction] = weight;
      // Addresses have no variables: they are part of the access. So their operands have variables if there are several
      // accesses.
      const bool is_address = isa<llvm::GetElementPtrInst>(instruction) && !is_base(instruction);
      if (is_address || (weight <= kLargestExpression && can_be_inline(instruction)))
        inline_.insert(&instruction);
    }
    // A load may only sink to its use if there is no write in between.
    const Instruction* last_write = nullptr;
    llvm::DenseMap<const Instruction*, const Instruction*>
        written_later;  // the first write after an instruction
    llvm::DenseMap<const Instruction*, const Instruction*> written_where;
    for (const Instruction& instruction : llvm::reverse(block)) {
      const Instruction* root = &instruction;
      if (is_inline(instruction)) {
        const Instruction* const user = only_user(instruction);
        const bool here = user != nullptr && user->getParent() == &block && !isa<llvm::PHINode>(user);
        root = here ? written_where.lookup(user) : block.getTerminator();
      }
      written_where[&instruction] = root;
      if (isa<llvm::LoadInst>(instruction) && is_inline(instruction) && last_write != nullptr &&
          last_write != root && last_write->comesBefore(root)) {
        inline_.erase(&instruction);
        written_where[&instruction] = &instruction;
      }
      if (instruction.mayWriteToMemory()) last_write = &instruction;
    }
  }
  for (const Instruction& instruction : llvm::instructions(function)) {
    if (!is_repeated_address(instruction)) continue;
    for (const Value* operand : instruction.operands()) {
      const auto* const other = dyn_cast<Instruction>(operand);
      if (other != nullptr && !isa<llvm::GetElementPtrInst>(other)) inline_.erase(other);
    }
  }
}

void Variables::choose_names(const llvm::Function& function) {
  for (const llvm::Argument& argument : function.args()) names_[&argument] = argument.getName().str();
  unsigned lanes = 0;
  for (const llvm::GlobalVariable& global : function.getParent()->globals()) {
    names_[&global] = fmt::format("lanes{}", lanes++);
  }
  unsigned arrays = 0;
  unsigned variables = 0;
  for (const Instruction& instruction : llvm::instructions(function)) {
    if (isa<llvm::AllocaInst>(instruction)) {
      names_[&instruction] = fmt::format("array{}", arrays++);
    } else if (!instruction.getType()->isVoidTy() && !is_inline(instruction)) {
      names_[&instruction] = fmt::format("v{}", variables++);
    }
  }
}

void Variables::add_read(const Value& value, llvm::SmallPtrSetImpl<const Value*>& found) const {
  const auto* const instruction = dyn_cast<Instruction>(&value);
  if (instruction == nullptr) return;
  if (!is_inline(*instruction)) {
    found.insert(instruction);
    return;
  }
  for (const Value* operand : instruction->operands()) add_read(*operand, found);
}

}  // namespace dhpvm::codegen::opencl
