// SPDX-License-Identifier: Apache-2.0
// Traps that the function catches itself, by `protect`. An instruction that can trap begins a block there
// (bytecode/control_flow.h), so the handler's registers are those at the start of the block. Without a trap, protected
// code only costs smaller blocks.
#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {

using llvm::BasicBlock;

// The path from the current block, which has just begun, if its first instruction traps.
BasicBlock* FunctionLowering::way_to_handler(std::uint32_t handler) {
  BasicBlock* const land = landing(handler);
  BasicBlock* const way = ir_.new_block("to.handler");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(way);
  registers_.convert_to(flow_.blocks()[handler].entry_types);
  b_.CreateBr(land);
  return way;
}

// Asks the runtime whether the trap may be caught (limits and interrupts may not), and for the remaining ticks.
BasicBlock* FunctionLowering::landing(std::uint32_t handler) {
  BasicBlock*& land = landings_[handler];
  if (land != nullptr) return land;
  land = ir_.new_block("landing");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(land);
  Value* const ticks = call_runtime(b_, unit_.module, RuntimeCall::kCatchTrap, {frame_.state});
  b_.CreateStore(ticks, frame_.ticks_slot);
  b_.CreateCondBr(b_.CreateICmpSLT(ticks, ir_.constant(0)), frame_.trapped, entry_from_outside(handler));
  return land;
}

void FunctionLowering::lower_caught(const Instruction& i) {
  Value* const number = call_runtime(b_, unit_.module, RuntimeCall::kCaught,
                                     {frame_.state, frame_.r, frame_.left, frame_.site(i)});
  BasicBlock* const kept = ir_.new_block("kept");
  ir_.branch_cold(b_.CreateICmpSLT(number, ir_.constant(0)), frame_.callee_trapped(), kept);
  b_.SetInsertPoint(kept);
  registers_.set(i.a, number);
}

void FunctionLowering::lower_trap_again(const Instruction& i) {
  call_runtime(
      b_, unit_.module, RuntimeCall::kTrapAgain,
      {frame_.state, frame_.r, frame_.left, frame_.site(i), frame_.exact_ticks(), registers_.get_i64(i.a)});
  frame_.leave();
}

}  // namespace dhpvm::codegen
