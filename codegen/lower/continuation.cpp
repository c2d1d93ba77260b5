// SPDX-License-Identifier: Apache-2.0
// Continuations of interpreted functions: each of their outermost loops, entered at any loop header in it. Where such a
// loop ends, the registers go back to the frame and the interpreter goes on. So code outside of loops, which runs once
// in such a call, is not compiled: LLVM takes time in proportion to the square of a function's size.
//
// A branch into the middle of a loop would make it irreducible, so that no loop pass applies. So loops are entered by
// their headers only, and a continuation in a nested loop passes the headers around it: each tests whether a loop
// inside it is requested. That is one comparison, which is never true after the first time.
#include <algorithm>
#include <set>
#include <utility>

#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {

using bytecode::kNoIndex;
using llvm::BasicBlock;

namespace {

constexpr std::uint32_t kArrived = kNoIndex;  // no block has this number

}  // namespace

void FunctionLowering::run_continuation() {
  frame_.state = function_.getArg(0);
  window_p_ = function_.getArg(1);
  frame_.r = function_.getArg(2);
  b_.CreateStore(function_.getArg(3), frame_.ticks_slot);
  frame_.left = function_.getArg(4);
  // The registers as all headers expect them; those that a header does not read may hold anything there.
  std::set<std::pair<std::uint32_t, SlotType>> registers;
  for (const std::uint32_t header : loops_->headers()) {
    if (is_outside(header)) continue;
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
  std::uint64_t offset = 0;
  for (std::size_t local = 0; local < locals_.size(); ++local) {
    b_.CreateMemCpy(locals_[local], llvm::MaybeAlign(16), ir_.byte_offset(function_.getArg(5), offset),
                    llvm::MaybeAlign(8), local_bytes(local));
    offset += (local_bytes(local) + 7) / 8 * 8;
  }
  wanted_ = ir_.entry_alloca(b_.getInt32Ty(), "wanted");
  b_.CreateStore(function_.getArg(6), wanted_);
  {
    const llvm::IRBuilderBase::InsertPointGuard restore(b_);
    b_.SetInsertPoint(frame_.trapped);
    b_.CreateRet(b_.getInt64(static_cast<std::uint64_t>(-1)));
  }
  lower_body();
}

std::uint64_t FunctionLowering::local_bytes(std::size_t local) const {
  return std::uint64_t{source_.locals[local].count} * bytecode::size_of(source_.locals[local].kind);
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
  std::uint64_t offset = 0;
  for (std::size_t local = 0; local < locals_.size(); ++local) {
    b_.CreateMemCpy(ir_.byte_offset(function_.getArg(5), offset), llvm::MaybeAlign(8), locals_[local],
                    llvm::MaybeAlign(16), local_bytes(local));
    offset += (local_bytes(local) + 7) / 8 * 8;
  }
  ir_.store(ir_.constant(seen_.original(target.begin)),
            ir_.byte_offset(frame_.state, unit_.layout.state.resume), {Access::kContext});
  b_.CreateRet(frame_.ticks());
}

void FunctionLowering::enter_body() {
  if (!loops_) return Lowering::enter_body();
  BasicBlock* const nowhere = ir_.new_block("nowhere");
  std::vector<std::uint32_t> headers = loops_->headers();
  std::erase_if(headers, [this](std::uint32_t header) { return is_outside(header); });
  branch_to_loops(function_.getArg(6), headers, kNoIndex, nowhere);
  b_.SetInsertPoint(nowhere);
  b_.CreateUnreachable();
}

void FunctionLowering::block_begins() {
  if (flow_.straight_before(block_) != previous_block_) fresh_.clear();
  const std::uint32_t handler = flow_.blocks()[block_].handler;
  frame_.exit = handler == kNoIndex ? frame_.trapped : way_to_handler(handler);
  if (!loops_ || strips_.is_careful() || !flow_.blocks()[block_].is_loop_header) return;
  const std::vector<std::uint32_t> inside = loops_->inside(block_);
  if (inside.empty()) return;
  BasicBlock* const here = ir_.new_block("here");
  branch_to_loops(b_.CreateLoad(b_.getInt32Ty(), wanted_), inside, block_, here);
  b_.SetInsertPoint(here);
  b_.CreateStore(b_.getInt32(kArrived), wanted_);
}

// The entry of the loop for continuations in it or in a loop inside.
BasicBlock* FunctionLowering::way_into(std::uint32_t header) {
  BasicBlock* const entry = entry_from_outside(header);
  if (!loops_->inside(header).empty()) return entry;
  BasicBlock* const way = ir_.new_block("way");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(way);
  b_.CreateStore(b_.getInt32(kArrived), wanted_);
  b_.CreateBr(entry);
  return way;
}

// Branches to the loop inside `outer` that contains the requested one of `headers`, or to `otherwise`.
void FunctionLowering::branch_to_loops(Value* wanted, const std::vector<std::uint32_t>& headers,
                                       std::uint32_t outer, BasicBlock* otherwise) {
  llvm::SwitchInst* const branch = b_.CreateSwitch(wanted, otherwise, static_cast<unsigned>(headers.size()));
  std::map<std::uint32_t, BasicBlock*> ways;
  std::vector<std::uint32_t> weights = {1 << 20};
  for (const std::uint32_t header : headers) {
    const std::uint32_t next = loops_->step(outer, header);
    const auto [way, is_new] = ways.try_emplace(next);
    if (is_new) way->second = way_into(next);
    branch->addCase(b_.getInt32(header), way->second);
    weights.push_back(1);
  }
  if (outer == kNoIndex) return;
  branch->setMetadata(llvm::LLVMContext::MD_prof,
                      llvm::MDBuilder(b_.getContext()).createBranchWeights(weights));
}

}  // namespace dhpvm::codegen
