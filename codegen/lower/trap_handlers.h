// SPDX-License-Identifier: Apache-2.0
// Traps that the function catches itself, by `protect`. An instruction that can trap begins a block there
// (bytecode/control_flow.h), so the handler's registers are those at the start of the block. Without a trap, protected
// code only costs smaller blocks.
#pragma once

#include <cstdint>
#include <map>

#include "codegen/lower/function_frame.h"
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

// Belongs to the lowering of one function.
class TrapHandlers {
 public:
  TrapHandlers(Lowering& lowering, FunctionFrame& frame, llvm::Module& module)
      : lowering_(lowering),
        frame_(frame),
        module_(module),
        registers_(lowering.registers()),
        ir_(lowering.emitter()),
        b_(lowering.emitter().builder()) {}

  // The path from the current block, which has just begun, to the block `handler` if its first instruction traps.
  llvm::BasicBlock* way_to(std::uint32_t handler);
  void lower_caught(const Instruction& i);
  void lower_trap_again(const Instruction& i);

 private:
  llvm::BasicBlock* landing(std::uint32_t handler);

  Lowering& lowering_;
  FunctionFrame& frame_;
  llvm::Module& module_;
  RegisterFile& registers_;
  IrEmitter& ir_;
  llvm::IRBuilder<>& b_;
  std::map<std::uint32_t, llvm::BasicBlock*> landings_;  // by handler: see landing()
};

}  // namespace dhpvm::codegen
