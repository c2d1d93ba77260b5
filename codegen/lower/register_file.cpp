// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/register_file.h"

namespace dhpvm::codegen {

using bytecode::Kind;

llvm::AllocaInst* RegisterFile::slot(std::uint32_t reg, SlotType type) {
  if (type == SlotType::kBits) type = SlotType::kI64;
  llvm::AllocaInst*& slot = slots_[{reg, type}];
  if (slot == nullptr) slot = ir_.entry_alloca(ir_.llvm_type(type), "p" + llvm::Twine(reg));
  return slot;
}

llvm::Value* RegisterFile::get(std::uint32_t reg, SlotType type) {
  const SlotType now = types_[reg];
  if (now == SlotType::kUnset) return llvm::PoisonValue::get(ir_.llvm_type(type));  // it is dead
  llvm::AllocaInst* const from = slot(reg, now);
  llvm::Value* const value = b_.CreateLoad(from->getAllocatedType(), from);
  return now == type ? value : ir_.from_bits(ir_.to_bits(value), type);
}

void RegisterFile::set(std::uint32_t reg, llvm::Value* value) {
  llvm::Type* const type = value->getType();
  SlotType slot_type = SlotType::kI64;
  if (type->isIntegerTy(32)) slot_type = SlotType::kI32;
  if (type->isFloatTy()) slot_type = SlotType::kF32;
  if (type->isDoubleTy()) slot_type = SlotType::kF64;
  b_.CreateStore(value, slot(reg, slot_type));
  types_[reg] = slot_type;
}

void RegisterFile::set_bits(std::uint32_t reg, std::uint64_t bits) {
  b_.CreateStore(ir_.constant(bits), slot(reg, SlotType::kBits));
  types_[reg] = SlotType::kBits;
}

llvm::AllocaInst* RegisterFile::reference_slot(std::uint32_t reg) {
  llvm::AllocaInst*& slot = reference_slots_[reg];
  if (slot == nullptr) slot = ir_.entry_alloca(b_.getPtrTy(), "r" + llvm::Twine(reg));
  return slot;
}

llvm::Value* RegisterFile::get_reference(std::uint32_t reg) {
  return b_.CreateLoad(b_.getPtrTy(), reference_slot(reg));
}

void RegisterFile::set_reference(std::uint32_t reg, llvm::Value* value) {
  b_.CreateStore(value, reference_slot(reg));
}

void RegisterFile::copy(std::uint32_t to, std::uint32_t from) {
  const SlotType type = types_[from];
  set(to, get(from, type));
  // A copied constant may still be read as any type.
  if (type == SlotType::kBits) types_[to] = SlotType::kBits;
}

void RegisterFile::convert_to(const std::vector<SlotType>& wanted) {
  for (std::uint32_t reg = 0; reg < wanted.size(); ++reg) {
    const SlotType now = types_[reg];
    if (wanted[reg] == now || now == SlotType::kUnset || wanted[reg] == SlotType::kUnset) continue;
    const bool same_slot = wanted[reg] == SlotType::kI64 && now == SlotType::kBits;
    if (!same_slot) b_.CreateStore(get(reg, wanted[reg]), slot(reg, wanted[reg]));
  }
}

void RegisterFile::store_value(Kind kind, llvm::Value* address, std::uint32_t reg, Access access) {
  llvm::Value* value = get(reg, slot_type(kind));
  if (bits_of(kind) < 32) value = b_.CreateTrunc(value, b_.getIntNTy(bits_of(kind)));
  ir_.store(value, address, access);
}

}  // namespace dhpvm::codegen
