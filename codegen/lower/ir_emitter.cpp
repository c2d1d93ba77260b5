// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/ir_emitter.h"

namespace dhpvm::codegen {

using bytecode::Kind;
using llvm::BasicBlock;

llvm::Type* IrEmitter::llvm_type(SlotType type) {
  switch (type) {
    case SlotType::kI32: return b_.getInt32Ty();
    case SlotType::kF32: return b_.getFloatTy();
    case SlotType::kF64: return b_.getDoubleTy();
    default: return b_.getInt64Ty();
  }
}

llvm::AllocaInst* IrEmitter::entry_alloca(llvm::Type* type, const llvm::Twine& name) {
  BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type, nullptr, name);
}

llvm::Value* IrEmitter::to_bits(llvm::Value* value) {
  llvm::Type* const type = value->getType();
  if (type->isFloatTy()) value = b_.CreateBitCast(value, b_.getInt32Ty());
  if (type->isDoubleTy()) value = b_.CreateBitCast(value, b_.getInt64Ty());
  return b_.CreateZExt(value, b_.getInt64Ty());
}

llvm::Value* IrEmitter::from_bits(llvm::Value* bits, SlotType type) {
  switch (type) {
    case SlotType::kI32: return b_.CreateTrunc(bits, b_.getInt32Ty());
    case SlotType::kF32: return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getInt32Ty()), b_.getFloatTy());
    case SlotType::kF64: return b_.CreateBitCast(bits, b_.getDoubleTy());
    default: return bits;
  }
}

BasicBlock* IrEmitter::new_block(const llvm::Twine& name) {
  return BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent());
}

void IrEmitter::branch_cold(llvm::Value* rare, BasicBlock* cold, BasicBlock* go_on) {
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(rare, cold, go_on, metadata.createBranchWeights(1, 1 << 20));
}

BasicBlock* IrEmitter::likely(llvm::Value* ok, BasicBlock*& go_on) {
  BasicBlock* const cold = new_block("cold");
  go_on = new_block("ok");
  branch_cold(b_.CreateNot(ok), cold, go_on);
  b_.SetInsertPoint(go_on);
  return cold;
}

llvm::Value* IrEmitter::byte_offset(llvm::Value* base, std::uint64_t offset) {
  return offset == 0 ? base : b_.CreateInBoundsGEP(b_.getInt8Ty(), base, constant(offset));
}

llvm::LoadInst* IrEmitter::load(llvm::Type* type, llvm::Value* address, Access access) {
  llvm::LoadInst* const load = b_.CreateLoad(type, address);
  load->setMetadata(llvm::LLVMContext::MD_tbaa, tbaa_.tag(access));
  // Not for immutable memory of objects: LLVM would sink the load behind a collection, when the object may be dead.
  if (access.family == Access::kConstant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  }
  return load;
}

llvm::StoreInst* IrEmitter::store(llvm::Value* value, llvm::Value* address, Access access) {
  llvm::StoreInst* const store = b_.CreateStore(value, address);
  store->setMetadata(llvm::LLVMContext::MD_tbaa, tbaa_.tag(access));
  return store;
}

void IrEmitter::mark(llvm::StoreInst& store, const char* name, llvm::Value* constant) {
  llvm::SmallVector<llvm::Metadata*, 1> operands;
  if (constant != nullptr) operands.push_back(llvm::ValueAsMetadata::get(constant));
  store.setMetadata(name, llvm::MDNode::get(b_.getContext(), operands));
}

llvm::Value* IrEmitter::load_value(Kind kind, llvm::Value* address, Access access) {
  if (kind == Kind::kF32) return load(b_.getFloatTy(), address, access);
  if (kind == Kind::kF64) return load(b_.getDoubleTy(), address, access);
  llvm::Value* const value = load(b_.getIntNTy(bits_of(kind)), address, access);
  if (bits_of(kind) >= 32) return value;
  return is_signed(kind) ? b_.CreateSExt(value, b_.getInt32Ty()) : b_.CreateZExt(value, b_.getInt32Ty());
}

}  // namespace dhpvm::codegen
