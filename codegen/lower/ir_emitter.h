// SPDX-License-Identifier: Apache-2.0
// Emits common pieces of LLVM IR: blocks, likely branches, memory accesses with their alias classes, and conversions
// between values and the 64 bits of a register.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/lower/instruction.h"
#include "codegen/lower/tbaa.h"

namespace dhpvm::codegen {

// The size of an element of the kind, in bits.
inline unsigned bits_of(bytecode::Kind kind) { return 8 * bytecode::size_of(kind); }

class IrEmitter {
 public:
  explicit IrEmitter(llvm::IRBuilder<>& builder) : b_(builder), tbaa_(builder.getContext()) {}

  llvm::IRBuilder<>& builder() { return b_; }

  llvm::BasicBlock* new_block(const llvm::Twine& name);
  void branch_cold(llvm::Value* rare, llvm::BasicBlock* cold, llvm::BasicBlock* go_on);
  // Branches on `ok`, which is likely true, and continues in a new block; returns the cold block, which the caller
  // fills.
  llvm::BasicBlock* likely(llvm::Value* ok, llvm::BasicBlock*& go_on);

  llvm::Value* constant(std::uint64_t value) { return b_.getInt64(value); }
  llvm::Value* byte_offset(llvm::Value* base, std::uint64_t offset);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const llvm::Twine& name);
  llvm::LoadInst* load(llvm::Type* type, llvm::Value* address, Access access);
  // Declares that a call accesses only this memory among that of `load` and `store`.
  void touches_only(llvm::CallInst& call, Access access) {
    call.setMetadata(llvm::LLVMContext::MD_tbaa, tbaa_.tag(access));
  }
  llvm::StoreInst* store(llvm::Value* value, llvm::Value* address, Access access);
  // Adds metadata of this name (object_marks.h), optionally with a constant.
  void mark(llvm::StoreInst& store, const char* name, llvm::Value* constant = nullptr);
  // A value of a primitive kind in register form: extended to 32 bits by its signedness if it is narrower.
  llvm::Value* load_value(bytecode::Kind kind, llvm::Value* address, Access access);

  llvm::Type* llvm_type(SlotType type);
  // Conversions between a register's 64 bits and values.
  llvm::Value* to_bits(llvm::Value* value);
  llvm::Value* from_bits(llvm::Value* bits, SlotType type);

 private:
  llvm::IRBuilder<>& b_;
  Tbaa tbaa_;
};

}  // namespace dhpvm::codegen
