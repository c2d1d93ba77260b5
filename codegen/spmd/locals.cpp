// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/locals.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

// Copies of up to this many elements are unrolled; SROA can promote such arrays.
constexpr std::uint64_t kUnrolled = 16;

// The type of the first load or store of `alloca`, or null. Its size determines the layout of the array.
llvm::Type* element_type(const llvm::AllocaInst& alloca) {
  llvm::SmallVector<const llvm::Value*, 8> work{&alloca};
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  while (!work.empty()) {
    const llvm::Value* address = work.pop_back_val();
    if (!seen.insert(address).second) continue;
    for (const llvm::User* user : address->users()) {
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) return load->getType();
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
          store != nullptr && store->getPointerOperand() == address) {
        return store->getValueOperand()->getType();
      }
      if (llvm::isa<llvm::GetElementPtrInst>(user)) work.push_back(user);
    }
  }
  return nullptr;
}

// Moves one element at `offset` bytes: sets it to the byte of a memset, or copies it.
void move_element(llvm::IRBuilder<>& builder, llvm::MemIntrinsic& block, llvm::Type* type,
                  llvm::Value* offset) {
  const std::uint64_t bytes = type->getIntegerBitWidth() / 8;
  llvm::Value* value = nullptr;
  if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&block)) {
    value = builder.CreateZExt(set->getValue(), type);
    const llvm::APInt everywhere = llvm::APInt::getSplat(type->getIntegerBitWidth(), llvm::APInt(8, 1));
    value = builder.CreateMul(value, builder.getInt(everywhere));
  } else {
    llvm::Value* source = llvm::cast<llvm::MemTransferInst>(block).getSource();
    llvm::Value* from = builder.CreateGEP(builder.getInt8Ty(), source, offset);
    value = builder.CreateAlignedLoad(type, from, llvm::Align(bytes));
  }
  llvm::Value* to = builder.CreateGEP(builder.getInt8Ty(), block.getDest(), offset);
  builder.CreateAlignedStore(value, to, llvm::Align(bytes));
}

void expand(llvm::MemIntrinsic& block, llvm::Type* type, std::uint64_t length) {
  const std::uint64_t bytes = type->getIntegerBitWidth() / 8;
  llvm::IRBuilder<> builder(&block);
  if (length / bytes <= kUnrolled) {
    for (std::uint64_t offset = 0; offset < length; offset += bytes) {
      move_element(builder, block, type, builder.getInt64(offset));
    }
    block.eraseFromParent();
    return;
  }
  llvm::BasicBlock* before = block.getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(before, &block);
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(block.getContext(), "copy", before->getParent(), after);
  before->getTerminator()->setSuccessor(0, loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* offset = builder.CreatePHI(builder.getInt64Ty(), 2);
  move_element(builder, block, type, offset);
  llvm::Value* next = builder.CreateAdd(offset, builder.getInt64(bytes));
  offset->addIncoming(builder.getInt64(0), before);
  offset->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpULT(next, builder.getInt64(length)), loop, after);
  block.eraseFromParent();
}

}  // namespace

void expand_local_copies(llvm::Function& function) {
  llvm::SmallVector<llvm::MemIntrinsic*, 8> blocks;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* found = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) blocks.push_back(found);
  }
  for (llvm::MemIntrinsic* block : blocks) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(block->getLength());
    const llvm::AllocaInst* local = private_base(block->getDest());
    const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(block);
    if (local == nullptr && transfer != nullptr) local = private_base(transfer->getSource());
    if (local == nullptr || length == nullptr || block->isVolatile()) continue;
    // A memmove within one array may have to run backwards.
    if (llvm::isa<llvm::MemMoveInst>(block) &&
        private_base(transfer->getSource()) == private_base(block->getDest()))
      continue;
    llvm::Type* type = element_type(*local);
    const llvm::DataLayout& layout = function.getDataLayout();
    const std::uint64_t bits = type == nullptr ? 8 : layout.getTypeSizeInBits(type).getFixedValue();
    const std::uint64_t bytes = length->getZExtValue();
    if ((bits != 8 && bits != 16 && bits != 32 && bits != 64) || bytes % (bits / 8) != 0 || bytes == 0)
      continue;
    expand(*block, llvm::Type::getIntNTy(function.getContext(), static_cast<unsigned>(bits)), bytes);
  }
}

}  // namespace dhpvm::codegen::spmd
