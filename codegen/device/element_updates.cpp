// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/element_updates.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cstddef>
#include <map>

#include "codegen/device/builtins.h"
#include "codegen/kernel_abi.h"

namespace dhpvm::codegen {
namespace {

using llvm::Instruction;
using llvm::Value;
using Rmw = llvm::AtomicRMWInst;

// The captured array that the address points into.
std::optional<unsigned> array_of(const Value* address, const llvm::Argument& arrays) {
  const auto* const data = llvm::dyn_cast<llvm::LoadInst>(llvm::getUnderlyingObject(address, 0));
  if (data == nullptr) return std::nullopt;
  llvm::APInt offset(64, 0);
  const Value* const base = data->getPointerOperand()->stripAndAccumulateConstantOffsets(
      arrays.getParent()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
  const std::uint64_t place = offset.getZExtValue();
  if (base != &arrays || place % sizeof(KernelArray) != offsetof(KernelArray, data)) return std::nullopt;
  return static_cast<unsigned>(place / sizeof(KernelArray));
}

Rmw::BinOp operation_of(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::Add: return Rmw::Add;
    case Instruction::Sub: return Rmw::Sub;
    case Instruction::And: return Rmw::And;
    case Instruction::Or: return Rmw::Or;
    case Instruction::Xor: return Rmw::Xor;
    default: break;
  }
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  switch (call == nullptr ? llvm::Intrinsic::not_intrinsic : call->getIntrinsicID()) {
    case llvm::Intrinsic::smin: return Rmw::Min;
    case llvm::Intrinsic::smax: return Rmw::Max;
    case llvm::Intrinsic::umin: return Rmw::UMin;
    case llvm::Intrinsic::umax: return Rmw::UMax;
    default: return Rmw::BAD_BINOP;
  }
}

bool commute(Rmw::BinOp a, Rmw::BinOp b) {
  const auto is_sum = [](Rmw::BinOp operation) { return operation == Rmw::Add || operation == Rmw::Sub; };
  return a == b || (is_sum(a) && is_sum(b));
}

// Whether every path to the store passes the load, with no writes in between.
bool is_undisturbed(const llvm::LoadInst& load, const llvm::StoreInst& store) {
  const llvm::BasicBlock* block = store.getParent();
  const Instruction* before = store.getPrevNode();
  llvm::SmallPtrSet<const llvm::BasicBlock*, 4> seen;
  while (before != &load) {
    if (before == nullptr) {
      block = block->getSinglePredecessor();
      if (block == nullptr || !seen.insert(block).second) return false;
      before = &block->back();
      continue;
    }
    if (before->mayWriteToMemory()) return false;
    before = before->getPrevNode();
  }
  return true;
}

// Whether the instruction is a result of the body that describes a trap: all but the site. Messages do not show the
// value that could not be written.
bool is_operand_of_trap(const Instruction& user) {
  return llvm::isa<llvm::PHINode>(user) && llvm::isa<llvm::ReturnInst>(user.getParent()->getTerminator());
}

std::optional<ElementUpdate> update_of(llvm::StoreInst& store) {
  ElementUpdate update;
  update.store = &store;
  update.combined = llvm::dyn_cast<Instruction>(store.getValueOperand());
  if (update.combined == nullptr) return std::nullopt;
  const auto is_known = [&](const llvm::User* user) {
    return user == &store || is_operand_of_trap(*llvm::cast<Instruction>(user));
  };
  if (!llvm::all_of(update.combined->users(), is_known)) return std::nullopt;
  llvm::Type* const type = update.combined->getType();
  if (!type->isIntegerTy(32) && !type->isIntegerTy(64)) return std::nullopt;
  update.operation = operation_of(*update.combined);
  if (update.operation == Rmw::BAD_BINOP) return std::nullopt;
  for (unsigned n = 0; n < (update.operation == Rmw::Sub ? 1U : 2U); ++n) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(update.combined->getOperand(n));
    if (load == nullptr || load->getPointerOperand() != store.getPointerOperand() || !load->hasOneUse())
      continue;
    const std::uint64_t bytes = type->getPrimitiveSizeInBits() / 8;
    if (load->getAlign().value() < bytes || store.getAlign().value() < bytes) continue;
    if (!is_undisturbed(*load, store)) continue;
    update.load = load;
    update.operand = update.combined->getOperand(1 - n);
    return update;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<ElementUpdate>> find_updates(llvm::Function& body, const llvm::Argument& arrays) {
  std::vector<ElementUpdate> updates;
  std::vector<std::pair<const llvm::LoadInst*, unsigned>> loads;
  for (Instruction& instruction : llvm::instructions(body)) {
    if (!instruction.mayReadOrWriteMemory()) continue;
    if (const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      if (call->isAssumeLikeIntrinsic()) continue;
    }
    Value* const address = llvm::getLoadStorePointerOperand(&instruction);
    if (address == nullptr || instruction.isAtomic() || instruction.isVolatile()) return std::nullopt;
    auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (address->getType()->getPointerAddressSpace() != kGlobalSpace) {
      // Local arrays could carry values from turn to turn; this is not analysed.
      if (store != nullptr || llvm::getUnderlyingObject(address, 0) != &arrays) return std::nullopt;
      continue;
    }
    const std::optional<unsigned> array = array_of(address, arrays);
    if (!array) return std::nullopt;
    if (store == nullptr) {
      loads.emplace_back(llvm::cast<llvm::LoadInst>(&instruction), *array);
      continue;
    }
    std::optional<ElementUpdate> update = update_of(*store);
    if (!update) return std::nullopt;
    update->array = *array;
    updates.push_back(*update);
  }
  if (updates.empty()) return std::nullopt;
  std::map<unsigned, const ElementUpdate*> first;  // by array
  for (const ElementUpdate& update : updates) {
    const ElementUpdate& other = *first.try_emplace(update.array, &update).first->second;
    if (!commute(update.operation, other.operation)) return std::nullopt;
  }
  for (const auto& [load, array] : loads) {
    const auto is_mine = [mine = load](const ElementUpdate& update) { return update.load == mine; };
    if (first.contains(array) && llvm::none_of(updates, is_mine)) return std::nullopt;
  }
  return updates;
}

}  // namespace dhpvm::codegen
