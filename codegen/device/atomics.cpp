// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/atomics.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/device/builtins.h"

namespace dhpvm::codegen {
namespace {

using Rmw = llvm::AtomicRMWInst;
using llvm::Value;

// Whether all are of one kind whose order does not affect the final contents of memory, and all old values are unused.
bool is_one_unobserved_sum(const llvm::SmallVectorImpl<llvm::Instruction*>& updates) {
  const auto* const first = llvm::dyn_cast<Rmw>(updates.front());
  if (first == nullptr || first->getOperation() == Rmw::Xchg) return false;
  return llvm::all_of(updates, [&](const llvm::Instruction* update) {
    const auto* const other = llvm::dyn_cast<Rmw>(update);
    return other != nullptr && other->getOperation() == first->getOperation() && other->use_empty();
  });
}

// Whether no shared memory is accessed between a fence and the instruction.
bool follows_fence(const llvm::Instruction& instruction) {
  const auto is_private = [](const llvm::Instruction& other) {
    const Value* const address = llvm::getLoadStorePointerOperand(&other);
    if (address == nullptr) return !other.mayReadOrWriteMemory();
    return address->getType()->getPointerAddressSpace() == kPrivateSpace;
  };
  const llvm::Instruction* before = instruction.getPrevNode();
  while (before != nullptr && is_private(*before)) before = before->getPrevNode();
  const auto* const call = llvm::dyn_cast_or_null<llvm::CallBase>(before);
  return call != nullptr && builtin_of(*call) == Builtin::kFence;
}

}  // namespace

void order_updates(llvm::Function& body) {
  llvm::SmallVector<llvm::Instruction*> updates;
  for (llvm::Instruction& instruction : llvm::instructions(body)) {
    if (llvm::isa<Rmw>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
      updates.push_back(&instruction);
    }
  }
  if (updates.empty() || is_one_unobserved_sum(updates)) return;
  // Iterations are unordered: one update per iteration is equivalent to updates of one element.
  const llvm::DominatorTree dominators(body);
  const llvm::LoopInfo loops(dominators);
  if (updates.size() == 1 && loops.getLoopFor(updates.front()->getParent()) == nullptr) return;
  llvm::IRBuilder<> b(body.getContext());
  for (llvm::Instruction* const update : updates) {
    b.SetInsertPoint(update);
    if (!follows_fence(*update)) call_builtin(b, Builtin::kFence);
    b.SetInsertPoint(update->getNextNode());
    call_builtin(b, Builtin::kFence);
  }
}

void expand_update(Rmw& update) {
  llvm::expandAtomicRMWToCmpXchg(
      &update, [](llvm::IRBuilderBase& b, Value* address, Value* loaded, Value* wanted, llvm::Align alignment,
                  llvm::AtomicOrdering order, llvm::SyncScope::ID scope, Value*& success, Value*& now) {
        llvm::Type* const type = wanted->getType();
        llvm::Type* const bits = b.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits()));
        auto* const exchange = b.CreateAtomicCmpXchg(
            address, b.CreateBitCast(loaded, bits), b.CreateBitCast(wanted, bits), alignment, order,
            llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
        success = b.CreateExtractValue(exchange, 1);
        now = b.CreateBitCast(b.CreateExtractValue(exchange, 0), type);
      });
}

}  // namespace dhpvm::codegen
