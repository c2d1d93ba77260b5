// SPDX-License-Identifier: Apache-2.0
// The part of the lowering that functions and kernels share: registers, control flow, arithmetic, element
// accesses, local arrays. What differs between them (how a handle looks, how a trap leaves, what a back-edge
// must do, calls) is left to function_lowering.h and kernel_lowering.h.
//
// Registers become allocas, one per register and LLVM type, which SROA turns into values. The instruction
// families are in arithmetic.h, control.cpp and memory.cpp.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/lower/flow.h"
#include "codegen/lower/stated_values.h"
#include "codegen/lower/tbaa.h"
#include "codegen/runtime_table.h"

namespace dhpvm::codegen {

enum class ArrayField : std::uint8_t { kData, kReadable, kWritable, kLength };

class Lowering {
 public:
  // `loops`: those that are made faster. kNone where loops do not tick; kInner where a check that fails may
  // be tried again.
  Lowering(const bytecode::Module& module, std::uint32_t index, llvm::IRBuilder<>& builder, LoopSearch loops);
  virtual ~Lowering() = default;
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

 protected:
  using Value = llvm::Value;

  // ---- To be provided.

  // A field of an array handle that is known not to be null.
  virtual Value* array_field(Value* array, ArrayField field) = 0;
  // `may_be_vector`: the array may be of rank 1 (and `dimension` is then 0).
  virtual Value* array_dimension(Value* array, unsigned dimension, bool may_be_vector) = 0;
  // Leaves with a trap if the array is null, where the bounds check would not find out.
  virtual void check_array(const Instruction& i, Value* array) = 0;
  // Called with the builder in a cold block where an element is not accessible; must end it, with a trap or,
  // if the access may be tried, with a branch to `go_on`.
  virtual void inaccessible(const Instruction& i, Value* array, Value* index, bool write,
                            llvm::BasicBlock* go_on) = 0;
  // Called with the builder in a cold block; must end it.
  virtual void leave_with_trap(const Instruction& i, TrapKind kind) = 0;
  // An iteration of a loop that is not counted is about to begin: falls through, or leaves. After having done more
  // than counting, it may also branch to `refilled`, if that is not null.
  virtual void tick(const Instruction& i, llvm::BasicBlock* refilled) = 0;
  // For counted loops: how many back-edges may be taken until the next tick, at least 0; a value of type i64.
  virtual Value* ticks_at_hand() = 0;
  // Whether that is always the same, so that all stretches of a loop but its last are of one length.
  virtual bool has_even_strips() const { return false; }
  // Takes `count` of them away, or gives them back.
  virtual void take_ticks(Value* count) = 0;
  virtual void give_ticks(Value* count) = 0;
  // Ends the block: return, return.p, return.r.
  virtual void lower_return(const Instruction& i) = 0;
  // The families that only functions have, and calls.
  virtual void lower_special(const Instruction& i) = 0;
  // Called before the first instruction of a block, and after every instruction.
  virtual void block_begins() {}
  virtual void lowered(const Instruction&) {}
  // Whether the check of this element access or index is proven to succeed, and is left out.
  virtual bool is_proven(const Instruction& i) const = 0;
  // After a reference has been stored into an element: the write barrier.
  virtual void element_stored(const Instruction& i) = 0;
  // Whether other threads may update the same elements.
  virtual bool needs_atomics() const = 0;

  // Of the back-edges that the counted loop around the block being lowered has paid for, those that it has not taken
  // yet: a value of type i64, or null outside such loops.
  Value* back_edges_left();

  // Whether the code being lowered is a copy for rare cases of what has been lowered before.
  bool is_careful() const { return careful_; }

  // ---- Lowers the whole body. The builder stands where registers have got their initial values.
  void lower_body();
  // Branches to where the body begins: its first block.
  virtual void enter_body();
  // Where control that comes from outside enters the block: at counted loops, their first stretch is set up
  // there.
  llvm::BasicBlock* entry_from_outside(std::uint32_t block) const;

  // Ends the block with the branch that the current instruction, a conditional one, takes if `condition`.
  void lower_branch(Value* condition);

  // ---- Registers.
  Value* get(std::uint32_t reg, SlotType type);
  Value* get_i32(std::uint32_t reg) { return get(reg, SlotType::kI32); }
  Value* get_i64(std::uint32_t reg) { return get(reg, SlotType::kI64); }
  Value* get_f32(std::uint32_t reg) { return get(reg, SlotType::kF32); }
  Value* get_f64(std::uint32_t reg) { return get(reg, SlotType::kF64); }
  // The value's LLVM type decides the slot type.
  void set(std::uint32_t reg, Value* value);
  void set_bits(std::uint32_t reg, std::uint64_t bits);
  Value* get_reference(std::uint32_t reg);
  void set_reference(std::uint32_t reg, Value* value);
  // As get(), whatever the type: the register's 64 bits.
  Value* get_bits(std::uint32_t reg) { return get(reg, SlotType::kI64); }
  SlotType current_type(std::uint32_t reg) const { return types_[reg]; }
  void set_types(const std::vector<SlotType>& types) { types_ = types; }
  // Conversions between a register's 64 bits and values.
  Value* to_bits(Value* value);
  Value* from_bits(Value* bits, SlotType type);
  llvm::Type* llvm_type(SlotType type);

  // ---- For all lowerings.
  // Makes the memory of local arrays; whoever calls it fills it.
  void make_locals();
  void zero_local(std::size_t number);
  llvm::BasicBlock* new_block(const llvm::Twine& name);
  // Goes on if `ok`; otherwise traps.
  void guard(Value* ok, const Instruction& i, TrapKind kind);
  // Branches on `ok`, which is nearly always true, and goes on in a new block; returns the cold block, to be
  // filled.
  llvm::BasicBlock* likely(Value* ok, llvm::BasicBlock*& go_on);
  void branch_cold(Value* rare, llvm::BasicBlock* cold, llvm::BasicBlock* go_on);
  // The operands of a trap's message: the first three primitive registers read, as bits, missing ones poison.
  std::array<Value*, 3> trap_operands(const Instruction& i);
  // The first reference register read, or nothing.
  std::optional<std::uint32_t> trap_reference(const Instruction& i) const;
  Value* constant(std::uint64_t value) { return b_.getInt64(value); }
  Value* byte_offset(Value* base, std::uint64_t offset);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const llvm::Twine& name);
  llvm::LoadInst* load(llvm::Type* type, Value* address, Access access);
  llvm::StoreInst* store(Value* value, Value* address, Access access);
  // Of a value of a primitive kind, as registers hold it.
  Value* load_value(bytecode::Kind kind, Value* address, Access access);
  void store_value(bytecode::Kind kind, Value* address, std::uint32_t reg, Access access);

  const bytecode::Module& module_;
  const std::uint32_t index_;
  const bytecode::Function& source_;
  Flow flow_;
  llvm::IRBuilder<>& b_;
  Tbaa tbaa_;
  std::uint32_t block_ = 0;  // the number of the block being lowered
  std::vector<llvm::AllocaInst*> locals_;

 private:
  // What a loop keeps of the handle of an array that does not change; all 0 if the array is null.
  struct KeptArray {
    llvm::AllocaInst* data = nullptr;
    llvm::AllocaInst* readable = nullptr;
    llvm::AllocaInst* writable = nullptr;
    llvm::AllocaInst* length = nullptr;  // -1 if the array is null
    std::array<llvm::AllocaInst*, 3> dimensions = {};
  };
  struct Strip {                        // of an inner loop being lowered
    llvm::BasicBlock* begin = nullptr;  // sets up the next stretch of iterations
    llvm::AllocaInst* end =
        nullptr;  // of a counted loop: the counter's value in the last iteration of the stretch
    llvm::AllocaInst* next = nullptr;           // with even strips: its value where the next one begins
    std::map<std::uint32_t, KeptArray> arrays;  // by register
    std::map<std::uint32_t, llvm::BasicBlock*>
        carefully;  // by word: the same instruction in the careful copy
  };

  void lower_block(std::uint32_t number);
  // Copies registers into the slots of other types where these are wanted.
  void convert_registers(const std::vector<SlotType>& wanted);
  void lower(const Instruction& i);
  // The inner loop around the block: its number, or nothing.
  std::optional<std::size_t> loop_of(std::uint32_t block) const;
  // Branches to a block of the bytecode along an edge: converts registers, leaves counted loops.
  void go_to(std::uint32_t successor);
  // kPaid: out of a counted loop by its end, where every back-edge that was paid for has been taken.
  enum class EdgeKind : std::uint8_t { kUsual, kPaid };
  llvm::BasicBlock* edge_to(std::uint32_t successor, EdgeKind kind = EdgeKind::kUsual);

  void lower_move(const Instruction& i);
  void lower_constant(const Instruction& i);
  void lower_divide(const Instruction& i);
  void lower_jump(const Instruction& i);
  void lower_jump_if(const Instruction& i);
  void lower_load(const Instruction& i);
  void lower_store(const Instruction& i);
  void lower_length(const Instruction& i);
  void lower_dimension(const Instruction& i);
  void lower_index(const Instruction& i);
  void lower_atomic(const Instruction& i);
  void lower_local(const Instruction& i);
  void lower_for(const Instruction& i);
  void lower_counted_latch(const Instruction& i, std::size_t loop);
  void end_strip(const Instruction& i, std::size_t loop);
  void go_back(const Instruction& i, std::uint32_t successor);
  void make_strip(std::size_t loop);
  void begin_strip(std::size_t loop);
  void keep_array(const InvariantArray& array, const KeptArray& kept);
  Value* steps_in_range(std::size_t loop);
  Value* at_strip(std::uint32_t block, std::uint32_t pc, std::uint32_t reg);
  Value* element_at_strip(std::uint32_t block, const Instruction& i);
  bool is_stepped(const Instruction& i) const;
  void lower_carefully(std::size_t loop);
  void enter_carefully(std::uint32_t pc);
  // In a loop that has a careful copy: where to go on there with an instruction whose check failed. Otherwise null.
  llvm::BasicBlock* careful_entry(const Instruction& i);
  // The array's handle as the loop around the block being lowered keeps it, or null.
  const KeptArray* kept_array(std::uint32_t reg);
  Value* element_address(const Instruction& i, std::uint32_t array, std::uint32_t index, bool write,
                         std::uint64_t size, std::uint64_t offset);
  llvm::AllocaInst* slot(std::uint32_t reg, SlotType type);
  llvm::AllocaInst* reference_slot(std::uint32_t reg);

  StatedValues stated_;
  std::vector<SlotType> types_;  // of the primitive registers, at the instruction being lowered
  std::map<std::pair<std::uint32_t, SlotType>, llvm::AllocaInst*> slots_;
  std::vector<llvm::AllocaInst*> reference_slots_;
  std::vector<llvm::BasicBlock*> entries_;  // by block: where its code starts
  std::vector<Strip> strips_;               // by inner loop
  bool careful_ = false;                    // a careful copy is being lowered
};

}  // namespace dhpvm::codegen
