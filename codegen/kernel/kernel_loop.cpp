// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/kernel_loop.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <limits>
#include <utility>

#include "codegen/kernel/block_accumulators.h"
#include "codegen/kernel/kernel_traps.h"
#include "codegen/kernel_abi.h"
#include "codegen/lower/reduce.h"
#include "codegen/spmd/counted_loop.h"

namespace dhpvm::codegen {
namespace {

using bytecode::kReductionBlock;
using llvm::BasicBlock;
using llvm::Value;

constexpr std::uint64_t kTrap = offsetof(KernelChunk, trap);
constexpr std::uint64_t kTrapIndex = offsetof(KernelTrap, index);
// The number of rows that share a panel: enough to amortise packing, and few enough that their other operands stay in
// the L2 cache.
constexpr std::uint64_t kRowsOfPanel = 128;
// The innermost index while no iteration has trapped: no iteration has it, because bounds are exclusive.
constexpr std::uint64_t kNoTrap = std::numeric_limits<std::int64_t>::max();

class KernelLoop {
 public:
  KernelLoop(const bytecode::KernelRecord& record, const KernelBody& body, const WideBody& wide,
             const char* name, llvm::Module& module)
      : record_(record), body_(body), wide_(wide), b_(module.getContext()) {
    llvm::Type* const pointer = b_.getPtrTy();
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer}, false),
                                       llvm::GlobalValue::ExternalLinkage, name, module);
    function_->setDoesNotThrow();
    function_->addParamAttr(0, llvm::Attribute::NoAlias);
    function_->addParamAttr(1, llvm::Attribute::NoAlias);
  }

  void emit() {
    inner_ = record_.dimensions - 1u;
    b_.SetInsertPoint(block("entry"));
    load_call();
    if (body_.trap != nullptr) {
      define_trap(*body_.trap, inner_);
      b_.CreateStore(i64(kNoTrap), trap_field(kTrapIndex + 8 * inner_));
      if (wide_.width == 1) trapped_ = entry_alloca(b_.getInt1Ty());
    }
    empty_panels();
    emit_dimension(0);
    b_.CreateRet(b_.getInt32(static_cast<std::uint32_t>(KernelStatus::kDone)));
    if (trapped_ != nullptr) note_traps(*function_, *wide_.full, *body_.trap, trapped_);
  }

 private:
  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, function_); }
  Value* i64(std::uint64_t value) { return b_.getInt64(value); }
  // A field of the chunk's trap record.
  Value* trap_field(std::uint64_t offset) { return field(function_->getArg(1), kTrap + offset); }
  Value* field(Value* base, std::uint64_t offset) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, i64(offset));
  }
  // Loads a value that is constant while the chunk runs.
  Value* load_constant(llvm::Type* type, Value* address) {
    llvm::LoadInst* const load = b_.CreateLoad(type, address);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }
  llvm::AllocaInst* entry_alloca(llvm::Type* type) {
    BasicBlock& entry = function_->getEntryBlock();
    return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
  }

  void load_call() {
    Value* const call = function_->getArg(0);
    Value* const chunk = function_->getArg(1);
    llvm::LoadInst* const arrays = b_.CreateLoad(b_.getPtrTy(), field(call, offsetof(KernelCall, arrays)));
    // Dereferenceable, so that its loads can be hoisted out of the loop.
    const std::uint64_t bytes = body_.function->getParamDereferenceableBytes(kArrays);
    llvm::LLVMContext& context = b_.getContext();
    arrays->setMetadata(llvm::LLVMContext::MD_dereferenceable,
                        llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(b_.getInt64(bytes))));
    arrays->setMetadata(llvm::LLVMContext::MD_nonnull, llvm::MDNode::get(context, {}));
    arrays->setMetadata(
        llvm::LLVMContext::MD_align,
        llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(b_.getInt64(alignof(KernelArray)))));
    arrays_ = arrays;
    stop_ = b_.CreateLoad(b_.getPtrTy(), field(call, offsetof(KernelCall, stop)));
    Value* const scalars = b_.CreateLoad(b_.getPtrTy(), field(call, offsetof(KernelCall, scalars)));
    for (std::size_t n = 0; n < body_.scalars.size(); ++n) {
      Value* bits = load_constant(b_.getInt64Ty(), field(scalars, 8 * n));
      llvm::Type* const type = body_.scalars[n];
      if (type->getPrimitiveSizeInBits() == 32) bits = b_.CreateTrunc(bits, b_.getInt32Ty());
      scalars_.push_back(b_.CreateBitCast(bits, type));
    }
    for (unsigned d = 0; d < record_.dimensions; ++d) {
      low_[d] = b_.CreateLoad(b_.getInt64Ty(), field(chunk, offsetof(KernelChunk, low) + 8 * d));
      high_[d] = b_.CreateLoad(b_.getInt64Ty(), field(chunk, offsetof(KernelChunk, high) + 8 * d));
    }
    if (record_.reductions.empty()) return;
    partials_ = entry_alloca(b_.getPtrTy());
    b_.CreateStore(b_.CreateLoad(b_.getPtrTy(), field(chunk, offsetof(KernelChunk, partials))), partials_);
    lanes_ = b_.CreateLoad(b_.getPtrTy(), field(chunk, offsetof(KernelChunk, lanes)));
  }

  template <typename Body>
  void counted(Value* low, Value* high, Value* step, const char* name, Body&& body) {
    spmd::counted_loop(b_, low, high, step, name, std::forward<Body>(body));
  }

  void emit_dimension(unsigned d) {
    if (wide_.tile != nullptr && d + 1 == inner_) {
      if (wide_.operands.panels != 0) {
        emit_strips(d);
      } else {
        emit_tiles(d, low_[d], high_[d], [&](Value* is_tile) { emit_rows(is_tile); });
      }
    } else if (wide_.has_row_loop && d + 1 == inner_) {
      counted(i64(0), b_.CreateSub(high_[d], low_[d]), i64(wide_.rows), "rows", [&](Value* done) {
        index_[d] = b_.CreateAdd(low_[d], done);
        Value* const left = b_.CreateSub(high_[d], index_[d]);
        row_count_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(wide_.rows));
        emit_dimension(inner_);
      });
    } else if (d < inner_) {
      counted(low_[d], high_[d], i64(1), "outer", [&](Value* index) {
        index_[d] = index;
        emit_dimension(d + 1);
      });
    } else if (record_.reductions.empty()) {
      emit_row();
    } else {
      emit_blocks();
    }
  }

  // ---- A row of the innermost dimension, without reductions.

  void emit_row() {
    const std::uint64_t width = wide_.width;
    Value* const low = low_[inner_];
    Value* const high = high_[inner_];
    Value* const extent = b_.CreateSub(high, low);  // the chunk is below 2^63 iterations
    if (wide_.full == nullptr) {
      under_masks(low, extent, [&](Value* index, Value* active) { call(wide_.tail, index, active, {}); });
      return;
    }
    Value* const whole = b_.CreateAnd(extent, i64(~(width - 1)));
    Value* const full_end = b_.CreateAdd(low, whole);
    counted(low, full_end, i64(width), "full", [&](Value* index) { call(wide_.full, index, nullptr, {}); });
    if (width == 1) return;
    BasicBlock* const tail = block("tail");
    BasicBlock* const done = block("row.done");
    b_.CreateCondBr(b_.CreateICmpSLT(full_end, high), tail, done);
    b_.SetInsertPoint(tail);
    call(wide_.tail, full_end, b_.CreateSub(high, full_end), {});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  // ---- Rows of dimension `d`, in tiles and then one by one. If an iteration of a tile traps, the one in its first row
  // does, and all earlier iterations are complete.

  // Calls each(is_tile) with the first row's index for rows from `low` to `high`.
  template <typename Each>
  void emit_tiles(unsigned d, Value* low, Value* high, Each&& each) {
    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const header = block("rows");
    BasicBlock* const inside = block("inside");
    BasicBlock* const after = block("after");
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    llvm::PHINode* const row = b_.CreatePHI(b_.getInt64Ty(), 2);
    row->addIncoming(low, before);
    b_.CreateCondBr(b_.CreateICmpSLT(row, high), inside, after);
    b_.SetInsertPoint(inside);
    index_[d] = row;
    Value* const is_tile = b_.CreateICmpUGE(b_.CreateSub(high, row), i64(wide_.rows));
    Value* const rows = b_.CreateSelect(is_tile, i64(wide_.rows), i64(1));
    each(is_tile);
    row->addIncoming(b_.CreateNSWAdd(row, rows), b_.GetInsertBlock());
    b_.CreateBr(header);
    b_.SetInsertPoint(after);
  }

  // ---- The same lanes of many rows, which share panels, before the next lanes.

  void emit_strips(unsigned d) {
    const std::uint64_t width = wide_.width;
    Value* const extent = b_.CreateSub(high_[inner_], low_[inner_]);
    Value* const full_end = b_.CreateAdd(low_[inner_], b_.CreateAnd(extent, i64(~(width - 1))));
    counted(i64(0), b_.CreateSub(high_[d], low_[d]), i64(kRowsOfPanel), "band", [&](Value* done) {
      Value* const low = b_.CreateAdd(low_[d], done);
      Value* const left = b_.CreateSub(high_[d], low);
      Value* const rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(kRowsOfPanel));
      Value* const high = b_.CreateAdd(low, rows);
      counted(low_[inner_], full_end, i64(width), "strip", [&](Value* index) {
        emit_tiles(d, low, high, [&](Value* is_tile) {
          either(
              is_tile, [&] { call(wide_.tile, index, nullptr, {}); },
              [&] { call(wide_.full, index, nullptr, {}); });
        });
      });
      Value* const active = b_.CreateSub(high_[inner_], full_end);
      either(
          b_.CreateICmpNE(active, i64(0)),
          [&] {
            emit_tiles(d, low, high, [&](Value* is_tile) {
              either(
                  is_tile, [&] { call(wide_.tile_tail, full_end, active, {}); },
                  [&] { call(wide_.tail, full_end, active, {}); });
            });
          },
          [] {});
    });
  }

  // Panels may hold stale elements of an earlier chunk or launch.
  void empty_panels() {
    const unsigned count = wide_.operands.panels;
    if (count == 0) return;
    Value* const panels =
        b_.CreateLoad(b_.getPtrTy(), field(function_->getArg(1), offsetof(KernelChunk, panels)));
    for (unsigned n = 0; n < count; ++n)
      b_.CreateStore(i64(0), field(panels, spmd::offset_of_panel(n, count)));
  }

  template <typename Then, typename Else>
  void either(Value* condition, Then&& then, Else&& otherwise) {
    BasicBlock* const first = block("first");
    BasicBlock* const second = block("second");
    BasicBlock* const after = block("after");
    b_.CreateCondBr(condition, first, second);
    b_.SetInsertPoint(first);
    then();
    b_.CreateBr(after);
    b_.SetInsertPoint(second);
    otherwise();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  void emit_rows(Value* is_tile) {
    const std::uint64_t width = wide_.width;
    Value* const high = high_[inner_];
    Value* const whole = b_.CreateAnd(b_.CreateSub(high, low_[inner_]), i64(~(width - 1)));
    Value* const full_end = b_.CreateAdd(low_[inner_], whole);
    const auto full = [&](llvm::Function* body) {
      counted(low_[inner_], full_end, i64(width), "full",
              [&](Value* index) { call(body, index, nullptr, {}); });
    };
    BasicBlock* const tile = block("tile");
    BasicBlock* const single = block("single");
    BasicBlock* const rest = block("rest");
    b_.CreateCondBr(is_tile, tile, single);
    b_.SetInsertPoint(tile);
    full(wide_.tile);
    b_.CreateBr(rest);
    b_.SetInsertPoint(single);
    full(wide_.full);
    b_.CreateBr(rest);
    b_.SetInsertPoint(rest);
    BasicBlock* const tail = block("tail");
    BasicBlock* const tile_tail = block("tile.tail");
    BasicBlock* const single_tail = block("single.tail");
    BasicBlock* const done = block("rows.done");
    b_.CreateCondBr(b_.CreateICmpSLT(full_end, high), tail, done);
    b_.SetInsertPoint(tail);
    Value* const active = b_.CreateSub(high, full_end);
    b_.CreateCondBr(is_tile, tile_tail, single_tail);
    b_.SetInsertPoint(tile_tail);
    call(wide_.tile_tail, full_end, active, {});
    b_.CreateBr(done);
    b_.SetInsertPoint(single_tail);
    call(wide_.tail, full_end, active, {});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  // Calls each(index, active) for the lanes of `extent` iterations from `low` on. Counts from 0, because the index of
  // lanes beyond the last iteration might overflow.
  template <typename Each>
  void under_masks(Value* low, Value* extent, Each&& each) {
    const std::uint64_t width = wide_.width;
    counted(i64(0), extent, i64(width), "lanes", [&](Value* done) {
      Value* const left = b_.CreateSub(extent, done);
      each(b_.CreateAdd(low, done), b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(width)));
    });
  }

  // Runs the iterations from `first` on by `body`, all lanes or `active` of them; leaves the function if one traps.
  // Returns the new accumulators.
  std::vector<Value*> call(llvm::Function* body, Value* first, Value* active,
                           const std::vector<Value*>& accumulators) {
    llvm::SmallVector<Value*> arguments = {arrays_, stop_, field(function_->getArg(1), kTrap)};
    for (unsigned d = 0; d < inner_; ++d) arguments.push_back(index_[d]);
    arguments.push_back(first);
    arguments.append(scalars_.begin(), scalars_.end());
    arguments.append(accumulators.begin(), accumulators.end());
    if (row_count_ != nullptr) arguments.push_back(row_count_);
    if (active != nullptr) arguments.push_back(active);
    if (trapped_ != nullptr) b_.CreateStore(b_.getFalse(), trapped_);
    llvm::CallInst* const result = b_.CreateCall(body, arguments);
    if (body_.trap != nullptr) leave_if_trapped();
    std::vector<Value*> values;
    for (unsigned n = 0; n < accumulators.size(); ++n) values.push_back(b_.CreateExtractValue(result, n));
    return values;
  }

  void leave_if_trapped() {
    BasicBlock* const trapped = block("trapped");
    BasicBlock* const go_on = block("go.on");
    llvm::MDBuilder metadata(b_.getContext());
    Value* const has_trapped =
        trapped_ != nullptr
            ? b_.CreateLoad(b_.getInt1Ty(), trapped_)
            : b_.CreateICmpNE(b_.CreateLoad(b_.getInt64Ty(), trap_field(kTrapIndex + 8 * inner_)),
                              i64(kNoTrap));
    b_.CreateCondBr(has_trapped, trapped, go_on, metadata.createBranchWeights(1, 1 << 20));
    b_.SetInsertPoint(trapped);
    for (unsigned d = 0; d < inner_; ++d) b_.CreateStore(index_[d], trap_field(kTrapIndex + 8 * d));
    Value* const site = b_.CreateLoad(b_.getInt32Ty(), trap_field(offsetof(KernelTrap, site)));
    Value* const stopped = b_.CreateICmpEQ(site, b_.getInt32(kStopSite));
    b_.CreateRet(b_.CreateSelect(stopped, b_.getInt32(static_cast<std::uint32_t>(KernelStatus::kStopped)),
                                 b_.getInt32(static_cast<std::uint32_t>(KernelStatus::kTrapped))));
    b_.SetInsertPoint(go_on);
  }

  // ---- Rows with reductions: block after block.

  void emit_blocks() {
    BlockAccumulators accumulators(b_, record_.reductions, body_.accumulators, wide_.width);
    Value* const extent = b_.CreateSub(high_[inner_], low_[inner_]);
    // From 0, because the index after the last block might overflow.
    counted(i64(0), extent, i64(kReductionBlock), "block", [&](Value* done) {
      Value* const begin = b_.CreateAdd(low_[inner_], done);
      Value* const left = b_.CreateSub(extent, done);
      Value* const size = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(kReductionBlock));
      Value* const end = b_.CreateAdd(begin, size);
      accumulators.reset();
      of_parts([&] { accumulators.load_lanes(lanes_); }, [] {});
      emit_block(begin, end, accumulators);
      of_parts([&] { accumulators.store_lanes(lanes_); },
               [&] {
                 Value* const partials = b_.CreateLoad(b_.getPtrTy(), partials_);
                 b_.CreateStore(accumulators.finish(partials), partials_);
               });
    });
  }

  // Emits `part` for chunks that are part of a block, and `whole` for all others.
  template <typename Part, typename Whole>
  void of_parts(Part&& part, Whole&& whole) {
    either(b_.CreateIsNull(lanes_), std::forward<Whole>(whole), std::forward<Part>(part));
  }

  void emit_block(Value* begin, Value* end, BlockAccumulators& accumulators) {
    const std::uint64_t width = wide_.width;
    const auto step = [&](Value* index, Value* active) {
      Value* group = i64(0);
      if (accumulators.groups() > 1) {
        group = b_.CreateAnd(b_.CreateUDiv(b_.CreateSub(index, begin), i64(width)),
                             i64(accumulators.groups() - 1));
      }
      const std::vector<Value*> before = accumulators.load(group);
      std::vector<Value*> updated = call(active == nullptr ? wide_.full : wide_.tail, index, active, before);
      for (std::size_t n = 0; active != nullptr && n < updated.size(); ++n)
        updated[n] = b_.CreateSelect(lanes_below(active), updated[n], before[n]);
      accumulators.store(group, updated);
    };
    Value* const extent = b_.CreateSub(end, begin);
    if (wide_.full == nullptr) {
      under_masks(begin, extent, step);
      return;
    }
    Value* const whole = b_.CreateAnd(extent, i64(~(width - 1)));
    Value* const full_end = b_.CreateAdd(begin, whole);
    counted(begin, full_end, i64(width), "full", [&](Value* index) { step(index, nullptr); });
    if (width == 1) return;
    BasicBlock* const tail = block("tail");
    BasicBlock* const done = block("block.done");
    b_.CreateCondBr(b_.CreateICmpSLT(full_end, end), tail, done);
    b_.SetInsertPoint(tail);
    step(full_end, b_.CreateSub(end, full_end));
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  Value* lanes_below(Value* active) {
    llvm::SmallVector<llvm::Constant*> numbers;
    for (unsigned lane = 0; lane < wide_.width; ++lane) numbers.push_back(b_.getInt64(lane));
    return b_.CreateICmpULT(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(wide_.width, active));
  }

  const bytecode::KernelRecord& record_;
  const KernelBody& body_;
  const WideBody& wide_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  unsigned inner_ = 0;  // the innermost dimension
  Value* arrays_ = nullptr;
  Value* stop_ = nullptr;
  llvm::SmallVector<Value*> scalars_;
  Value* low_[3] = {};
  Value* high_[3] = {};
  Value* index_[3] = {};
  Value* row_count_ = nullptr;            // for bodies with a row loop
  llvm::AllocaInst* trapped_ = nullptr;   // with one lane: whether the iteration has trapped
  llvm::AllocaInst* partials_ = nullptr;  // the address for the next block's values
  Value* lanes_ = nullptr;                // KernelChunk::lanes, with reductions
};

}  // namespace

void make_kernel_loop(const bytecode::KernelRecord& record, const KernelBody& body, const WideBody& wide,
                      const char* name, llvm::Module& module) {
  KernelLoop(record, body, wide, name, module).emit();
}

}  // namespace dhpvm::codegen
