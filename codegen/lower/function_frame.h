// SPDX-License-Identifier: Apache-2.0
// The frame of a function being lowered: its part of the machine's state, and its exits.
#pragma once

#include "codegen/lower/ir_emitter.h"
#include "codegen/lower/loop_strips.h"
#include "codegen/lower/mirror.h"
#include "codegen/lower/register_file.h"
#include "codegen/lower/unit.h"

namespace dhpvm::codegen {

class FunctionFrame {
 public:
  FunctionFrame(Unit& unit, std::uint32_t function, const Flow& flow, RegisterFile& registers,
                LoopStrips& strips, IrEmitter& emitter, Mirror::Entry entry)
      : unit_(unit),
        function_(function),
        registers_(registers),
        strips_(strips),
        ir_(emitter),
        b_(emitter.builder()),
        mirror_(unit.bytecode, unit.bytecode.functions[function], flow, entry) {}

  llvm::Value* ticks() { return b_.CreateLoad(b_.getInt64Ty(), ticks_slot); }
  // The exact number of remaining ticks at this instruction, to account for fuel at a trap.
  llvm::Value* exact_ticks();
  // The number that identifies the instruction in calls of the runtime.
  llvm::Value* site(const Instruction& i) {
    return ir_.constant(std::uint64_t{function_} << 32 | unit_.seen_calls(function_).original(i.pc));
  }
  llvm::Value* state_field(std::uint32_t offset, Access::Family family);
  // Whether the machine's stack has room for one more compiled function.
  llvm::Value* stack_has_room();

  // Mirrors the references live after `i`; returns the first free slot of the reference stack.
  llvm::Value* mirror(const Instruction& i);
  // The same in two steps, for an instruction that rarely calls the virtual machine: first the stores that every path
  // needs, then those before the call.
  void mirror_ahead(const Instruction& i);
  llvm::Value* mirror_in_slow_path(const Instruction& i);
  llvm::Value* reference_place(llvm::Value* first, std::uint32_t index);

  // Leaves after a trap of the current instruction: to the caller, or to its handler in this function.
  void leave() { b_.CreateBr(exit); }
  void leave_if_null(llvm::Value* result);
  // `ticks_left`: the result of a call, negative if it trapped.
  void leave_if_trapped(llvm::Value* ticks_left);
  // A block that leaves after a trap in a callee that did not receive the ticks.
  llvm::BasicBlock* callee_trapped();

  llvm::Value* state = nullptr;
  llvm::Value* r = nullptr;     // the first free slot of the reference stack
  llvm::Value* left = nullptr;  // remaining stack limit
  llvm::AllocaInst* ticks_slot = nullptr;
  llvm::BasicBlock* trapped = nullptr;  // returns to the caller
  llvm::BasicBlock* exit = nullptr;     // the target of leave() from the current block

 private:
  void store_references(const MirrorSite& site);

  Unit& unit_;
  const std::uint32_t function_;
  RegisterFile& registers_;
  LoopStrips& strips_;
  IrEmitter& ir_;
  llvm::IRBuilder<>& b_;
  Mirror mirror_;
};

}  // namespace dhpvm::codegen
