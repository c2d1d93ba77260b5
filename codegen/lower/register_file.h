// SPDX-License-Identifier: Apache-2.0
// The registers of a function being lowered. Each has an alloca for every LLVM type that it takes, which SROA turns
// into values.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/lower/ir_emitter.h"

namespace dhpvm::codegen {

class RegisterFile {
 public:
  RegisterFile(IrEmitter& emitter, const bytecode::Function& function)
      : ir_(emitter),
        b_(emitter.builder()),
        types_(function.primitive_registers, SlotType::kUnset),
        reference_slots_(function.reference_registers, nullptr) {}

  llvm::Value* get(std::uint32_t reg, SlotType type);
  llvm::Value* get_i32(std::uint32_t reg) { return get(reg, SlotType::kI32); }
  llvm::Value* get_i64(std::uint32_t reg) { return get(reg, SlotType::kI64); }
  llvm::Value* get_f32(std::uint32_t reg) { return get(reg, SlotType::kF32); }
  llvm::Value* get_f64(std::uint32_t reg) { return get(reg, SlotType::kF64); }
  // As get(), for any type: the register's 64 bits.
  llvm::Value* get_bits(std::uint32_t reg) { return get(reg, SlotType::kI64); }
  llvm::Value* get_reference(std::uint32_t reg);

  // The value's LLVM type decides the slot type.
  void set(std::uint32_t reg, llvm::Value* value);
  void set_bits(std::uint32_t reg, std::uint64_t bits);
  void set_reference(std::uint32_t reg, llvm::Value* value);
  void copy(std::uint32_t to, std::uint32_t from);
  // Stores a register's value of a primitive kind, truncated to its size.
  void store_value(bytecode::Kind kind, llvm::Value* address, std::uint32_t reg, Access access);

  // The types of the primitive registers at the instruction being lowered.
  SlotType current_type(std::uint32_t reg) const { return types_[reg]; }
  void set_types(const std::vector<SlotType>& types) { types_ = types; }
  // Copies registers to the slots of the wanted types.
  void convert_to(const std::vector<SlotType>& wanted);

 private:
  llvm::AllocaInst* slot(std::uint32_t reg, SlotType type);
  llvm::AllocaInst* reference_slot(std::uint32_t reg);

  IrEmitter& ir_;
  llvm::IRBuilder<>& b_;
  std::vector<SlotType> types_;
  std::map<std::pair<std::uint32_t, SlotType>, llvm::AllocaInst*> slots_;
  std::vector<llvm::AllocaInst*> reference_slots_;
};

}  // namespace dhpvm::codegen
