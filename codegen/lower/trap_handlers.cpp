// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/trap_handlers.h"

#include "codegen/lower/runtime_calls.h"

namespace dhpvm::codegen {

using llvm::BasicBlock;
using llvm::Value;

BasicBlock* TrapHandlers::way_to(std::uint32_t handler) {
  BasicBlock* const land = landing(handler);
  BasicBlock* const way = ir_.new_block("to.handler");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(way);
  registers_.convert_to(lowering_.flow().blocks()[handler].entry_types);
  b_.CreateBr(land);
  return way;
}

// Asks the runtime whether the trap may be caught (limits and interrupts may not), and for the remaining ticks.
BasicBlock* TrapHandlers::landing(std::uint32_t handler) {
  BasicBlock*& land = landings_[handler];
  if (land != nullptr) return land;
  land = ir_.new_block("landing");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(land);
  Value* const ticks = call_runtime(b_, module_, RuntimeCall::kCatchTrap, {frame_.state});
  b_.CreateStore(ticks, frame_.ticks_slot);
  b_.CreateCondBr(b_.CreateICmpSLT(ticks, ir_.constant(0)), frame_.trapped,
                  lowering_.entry_from_outside(handler));
  return land;
}

void TrapHandlers::lower_caught(const Instruction& i) {
  Value* const number =
      call_runtime(b_, module_, RuntimeCall::kCaught, {frame_.state, frame_.r, frame_.left, frame_.site(i)});
  BasicBlock* const kept = ir_.new_block("kept");
  ir_.branch_cold(b_.CreateICmpSLT(number, ir_.constant(0)), frame_.callee_trapped(), kept);
  b_.SetInsertPoint(kept);
  registers_.set(i.a, number);
}

void TrapHandlers::lower_trap_again(const Instruction& i) {
  call_runtime(
      b_, module_, RuntimeCall::kTrapAgain,
      {frame_.state, frame_.r, frame_.left, frame_.site(i), frame_.exact_ticks(), registers_.get_i64(i.a)});
  frame_.leave();
}

}  // namespace dhpvm::codegen
