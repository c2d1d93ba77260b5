// SPDX-License-Identifier: Apache-2.0
// Continuations of interpreted functions: each of their outermost loops, entered at any loop header in it. Where such a
// loop ends, the registers go back to the frame and the interpreter goes on. So code outside of loops, which runs once
// in such a call, is not compiled: LLVM takes time in proportion to the square of a function's size.
#include <algorithm>
#include <set>
#include <utility>

#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {

using bytecode::kNoIndex;

namespace {

const llvm::MaybeAlign kAlignedLocal(16);
const llvm::MaybeAlign kAlignedInFrame(8);

}  // namespace

void FunctionLowering::run_continuation() {
  frame_.state = function_.getArg(0);
  window_p_ = function_.getArg(1);
  frame_.r = function_.getArg(2);
  b_.CreateStore(function_.getArg(3), frame_.ticks_slot);
  frame_.left = function_.getArg(4);
  loops_.emplace(*this, loop_, function_.getArg(6));
  // The registers as all headers expect them; those that a header does not read may hold anything there.
  std::set<std::pair<std::uint32_t, SlotType>> registers;
  for (const std::uint32_t header : loops_->headers()) {
    const std::vector<SlotType>& types = flow_.blocks()[header].entry_types;
    for (std::uint32_t reg = 0; reg < seen_.registers_of(source_); ++reg) {
      if (types[reg] != SlotType::kUnset) registers.emplace(reg, types[reg]);
    }
  }
  for (const auto& [reg, type] : registers) {
    Value* const address = b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), window_p_, reg);
    registers_.set(reg, ir_.from_bits(ir_.load(b_.getInt64Ty(), address, {Access::kWindow}), type));
  }
  for (std::uint32_t reg = 0; reg < seen_.references_of(source_); ++reg) {
    registers_.set_reference(
        reg, ir_.load(b_.getPtrTy(), frame_.reference_place(frame_.r, reg), {Access::kMirror}));
  }
  make_locals();
  for_each_local([this](Value* local, Value* in_frame, std::uint64_t bytes) {
    b_.CreateMemCpy(local, kAlignedLocal, in_frame, kAlignedInFrame, bytes);
  });
  {
    const llvm::IRBuilderBase::InsertPointGuard restore(b_);
    b_.SetInsertPoint(frame_.trapped);
    b_.CreateRet(b_.getInt64(static_cast<std::uint64_t>(-1)));
  }
  lower_body();
}

// Calls `receive` with each local array, its place in the interpreter's frame, and its size in bytes.
void FunctionLowering::for_each_local(
    llvm::function_ref<void(Value* local, Value* in_frame, std::uint64_t bytes)> receive) {
  std::uint64_t offset = 0;
  for (std::size_t local = 0; local < locals_.size(); ++local) {
    const std::uint64_t bytes =
        std::uint64_t{source_.locals[local].count} * bytecode::size_of(source_.locals[local].kind);
    receive(locals_[local], ir_.byte_offset(function_.getArg(5), offset), bytes);
    offset += (bytes + 7) / 8 * 8;
  }
}

// The interpreter goes on at the block. It reads no register whose type is not set there, and no reference that is not
// live: these become null, because their slots may hold an object that is dead by now.
void FunctionLowering::lower_outside(std::uint32_t block) {
  const Block& target = flow_.blocks()[block];
  for (std::uint32_t reg = 0; reg < seen_.registers_of(source_); ++reg) {
    if (target.entry_types[reg] == SlotType::kUnset) continue;
    ir_.store(registers_.get_bits(reg), b_.CreateConstInBoundsGEP1_32(b_.getInt64Ty(), window_p_, reg),
              {Access::kWindow});
  }
  const std::vector<std::uint32_t> live = flow_.live_before(block);
  for (std::uint32_t reg = 0; reg < seen_.references_of(source_); ++reg) {
    Value* const value = std::ranges::binary_search(live, reg)
                             ? registers_.get_reference(reg)
                             : llvm::ConstantPointerNull::get(b_.getPtrTy());
    ir_.store(value, frame_.reference_place(frame_.r, reg), {Access::kMirror});
  }
  for_each_local([this](Value* local, Value* in_frame, std::uint64_t bytes) {
    b_.CreateMemCpy(in_frame, kAlignedInFrame, local, kAlignedLocal, bytes);
  });
  ir_.store(ir_.constant(seen_.original(target.begin)),
            ir_.byte_offset(frame_.state, unit_.layout.state.resume), {Access::kContext});
  b_.CreateRet(frame_.ticks());
}

void FunctionLowering::enter_body() {
  if (!loops_) return Lowering::enter_body();
  loops_->enter();
}

void FunctionLowering::block_begins() {
  if (flow_.straight_before(block_) != previous_block_) fresh_.clear();
  const std::uint32_t handler = flow_.blocks()[block_].handler;
  frame_.exit = handler == kNoIndex ? frame_.trapped : handlers_.way_to(handler);
  if (loops_ && !strips_.is_careful() && flow_.blocks()[block_].is_loop_header) loops_->pass(block_);
}

}  // namespace dhpvm::codegen
