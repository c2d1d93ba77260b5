// SPDX-License-Identifier: Apache-2.0
// The part of the lowering that functions and kernels share: registers, control flow, arithmetic, element
// accesses, local arrays. Everything in which functions and kernels differ is in environment.h.
//
// The instruction families are in arithmetic.h, control.cpp and memory.cpp.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <optional>
#include <vector>

#include "codegen/lower/environment.h"
#include "codegen/lower/flow.h"
#include "codegen/lower/ir_emitter.h"
#include "codegen/lower/loop_strips.h"
#include "codegen/lower/register_file.h"
#include "codegen/lower/stated_values.h"

namespace dhpvm::codegen {

class Lowering : public LoweringEnvironment {
 public:
  // `loops`: the loops to optimise. kNone if loops do not tick; kInner if a failed check may be retried.
  // `loop`: the header of the only loop to lower, or kNoIndex for the whole function.
  Lowering(const bytecode::Module& module, std::uint32_t index, llvm::IRBuilder<>& builder, LoopSearch loops,
           const SeenCalls& seen = kNoSeenCalls, std::uint32_t loop = bytecode::kNoIndex);

  // ---- For the inner loops, and the parts of a function's lowering.
  // kPaid: leaves a counted loop at its end, where all paid back-edges have been taken.
  enum class EdgeKind : std::uint8_t { kUsual, kPaid };
  const Flow& flow() const { return flow_; }
  const SeenCalls& seen_calls() const { return seen_; }
  IrEmitter& emitter() { return ir_; }
  RegisterFile& registers() { return registers_; }
  std::uint32_t block() const { return block_; }
  std::vector<llvm::BasicBlock*>& entries() { return entries_; }
  Instruction instruction(std::uint32_t pc) const { return decode(module_, source_, pc); }
  // Branches to a block of the bytecode along an edge: converts registers, leaves counted loops.
  llvm::BasicBlock* edge_to(std::uint32_t successor, EdgeKind kind = EdgeKind::kUsual);
  // The block for edges from outside into this block: for counted loops, it sets up their first strip.
  llvm::BasicBlock* entry_from_outside(std::uint32_t block) const;
  void lower_block(std::uint32_t number);
  // An element of an array of references that is known to exist.
  Value* load_reference(Value* data, Value* index);

 protected:
  // ---- Lowers the whole body. The builder is behind the code that initialises the registers.
  void lower_body();
  void go_to(std::uint32_t successor);
  // Branches to the entry of the body: its first block.
  virtual void enter_body();
  // Whether the block is not part of what is lowered; lower_outside() then emits the code for edges that lead to it.
  virtual bool is_outside(std::uint32_t /*block*/) const { return false; }
  virtual void lower_outside(std::uint32_t /*block*/) {}
  // Ends the block with the branch of the current, conditional instruction: taken if `condition`.
  void lower_branch(Value* condition);

  // ---- For all lowerings.
  // Allocates the memory of local arrays; the caller initialises it.
  void make_locals();
  void zero_local(std::size_t number);
  // Continues if `ok`; otherwise traps.
  void guard(Value* ok, const Instruction& i, TrapKind kind);
  // The operands of a trap's message: the first three primitive registers read, as bits, missing ones poison.
  std::array<Value*, 3> trap_operands(const Instruction& i);
  // The first reference register read, or nothing.
  std::optional<std::uint32_t> trap_reference(const Instruction& i) const;

  const bytecode::Module& module_;
  const std::uint32_t index_;
  const bytecode::Function& source_;
  const SeenCalls& seen_;
  Flow flow_;
  llvm::IRBuilder<>& b_;
  IrEmitter ir_;
  RegisterFile registers_;
  StatedValues stated_;
  LoopStrips strips_;
  std::uint32_t block_ = 0;                            // the number of the block being lowered
  std::uint32_t previous_block_ = bytecode::kNoIndex;  // of the one lowered before it
  std::vector<llvm::AllocaInst*> locals_;

 private:
  void lower(const Instruction& i);
  bool lower_seen_call(const Instruction& i);
  void lower_constant(const Instruction& i);
  void lower_divide(const Instruction& i);
  void lower_jump(const Instruction& i);
  void lower_jump_if(const Instruction& i);
  void lower_jump_compare(const Instruction& i);
  void lower_for(const Instruction& i);
  void lower_load(const Instruction& i);
  void lower_store(const Instruction& i);
  void lower_length(const Instruction& i);
  void lower_dimension(const Instruction& i);
  void lower_index(const Instruction& i);
  void lower_atomic(const Instruction& i);
  void lower_local(const Instruction& i);
  Value* element_address(const Instruction& i, std::uint32_t array, std::uint32_t index, bool write,
                         std::uint64_t size, std::uint64_t offset);

  std::vector<llvm::BasicBlock*> entries_;  // by block: where its code starts
};

}  // namespace dhpvm::codegen
