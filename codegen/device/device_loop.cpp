// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/device_loop.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/device/builtins.h"
#include "codegen/device/entry_parameters.h"
#include "codegen/device/trap_report.h"
#include "codegen/kernel/reduce.h"
#include "codegen/kernel_abi.h"

namespace dhpvm::codegen {
namespace {

using bytecode::kReductionBlock;
using bytecode::kReductionLanes;
using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

constexpr std::uint64_t kRuns = kReductionGroup / kReductionLanes;  // of a work-group

class DeviceLoop {
 public:
  DeviceLoop(const bytecode::Module& bytecode, const bytecode::KernelRecord& record, const KernelBody& body,
             Buffers buffers, const char* name, llvm::Module& module)
      : record_(record),
        body_(body),
        module_(module),
        b_(module.getContext()),
        parameters_(bytecode, record, body, buffers, name, module),
        function_(parameters_.function()),
        inner_(record.dimensions - 1u) {}

  DeviceEntry emit() {
    b_.SetInsertPoint(block("entry"));
    arrays_ = parameters_.make_descriptors(b_);
    for (unsigned d = 0; d < record_.dimensions; ++d) {
      low_[d] = parameters_.low(d);
      // Below 2^63, so that steps from there do not overflow.
      extent_[d] = b_.CreateSub(parameters_.high(d), low_[d]);
    }
    if (record_.reductions.empty()) {
      emit_dimension(0);
    } else {
      emit_blocks();
    }
    b_.CreateRetVoid();
    return {function_, parameters_.list()};
  }

 private:
  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, function_); }
  Value* i64(std::uint64_t value) { return b_.getInt64(value); }

  // ---- Without reductions: a loop over each dimension, in steps of the grid.

  void emit_dimension(unsigned d) {
    // Neighbouring work-items do neighbouring iterations of the innermost dimension.
    const unsigned axis = inner_ - d;
    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const header = block("iteration");
    BasicBlock* const inside = block("inside");
    BasicBlock* const after = block("after");
    Value* const first = call_builtin(b_, Builtin::kGlobalId, axis);
    Value* const step = call_builtin(b_, Builtin::kGlobalSize, axis);
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    PHINode* const offset = b_.CreatePHI(b_.getInt64Ty(), 2, "offset");
    offset->addIncoming(first, before);
    b_.CreateCondBr(b_.CreateICmpULT(offset, extent_[d]), inside, after);
    b_.SetInsertPoint(inside);
    index_[d] = b_.CreateAdd(low_[d], offset, "i");
    if (d < inner_) {
      emit_dimension(d + 1);
    } else {
      BasicBlock* const trapped = block("trapped");
      call_body({}, trapped);
      const llvm::IRBuilderBase::InsertPointGuard restore(b_);
      b_.SetInsertPoint(trapped);
      b_.CreateRetVoid();
    }
    offset->addIncoming(b_.CreateAdd(offset, step, "", /*HasNUW=*/true), b_.GetInsertBlock());
    b_.CreateBr(header);
    b_.SetInsertPoint(after);
  }

  // Does the iteration index_. Goes on in a new block, and to `trapped` after a trap has been reported. Returns the new
  // accumulators.
  std::vector<Value*> call_body(const std::vector<Value*>& accumulators, BasicBlock* trapped) {
    llvm::SmallVector<Value*> arguments = {arrays_, llvm::PoisonValue::get(b_.getPtrTy())};
    for (unsigned d = 0; d <= inner_; ++d) arguments.push_back(index_[d]);
    for (std::size_t n = 0; n < body_.scalars.size(); ++n) arguments.push_back(parameters_.scalar(b_, n));
    arguments.append(accumulators.begin(), accumulators.end());
    llvm::CallInst* const result = b_.CreateCall(body_.function, arguments);
    if (!body_.sites.empty()) {
      Value* const site = b_.CreateExtractValue(result, kSite);
      BasicBlock* const report = block("report");
      BasicBlock* const go_on = block("go.on");
      llvm::MDBuilder metadata(b_.getContext());
      b_.CreateCondBr(b_.CreateICmpNE(site, b_.getInt32(0)), report, go_on,
                      metadata.createBranchWeights(1, 1 << 20));
      b_.SetInsertPoint(report);
      report_trap(result, site);
      b_.CreateBr(trapped);
      b_.SetInsertPoint(go_on);
    }
    std::vector<Value*> values;
    for (unsigned n = 0; n < accumulators.size(); ++n) {
      values.push_back(b_.CreateExtractValue(result, kAccumulators + n));
    }
    return values;
  }

  void report_trap(Value* result, Value* site) {
    llvm::SmallVector<Value*> arguments = {parameters_.report(b_), b_.CreateSub(site, b_.getInt32(1)),
                                           b_.CreateExtractValue(result, kTrapArray)};
    for (unsigned d = 0; d < 3; ++d) arguments.push_back(d <= inner_ ? index_[d] : i64(0));
    for (unsigned n = 0; n < 3; ++n) arguments.push_back(b_.CreateExtractValue(result, kOperands + n));
    b_.CreateCall(declare_report_trap(module_), arguments);
  }

  // ---- With reductions: the work-items of a group come in runs, of which each works off one block at a time. All of a
  // ---- group go through the same number of steps, because barriers want all of them.

  void emit_blocks() {
    Value* const item = call_builtin(b_, Builtin::kLocalId, 0);
    Value* const run = b_.CreateUDiv(item, i64(kReductionLanes));
    lane_ = b_.CreateURem(item, i64(kReductionLanes));
    Value* const blocks =
        b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(extent_[inner_], i64(1)), i64(kReductionBlock)), i64(1));
    Value* total = blocks;
    for (unsigned d = 0; d < inner_; ++d) total = b_.CreateMul(total, extent_[d]);
    Value* const first = b_.CreateMul(group_number(), i64(kRuns));
    Value* const step = b_.CreateMul(group_count(), i64(kRuns));
    make_local_memory(item);

    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const header = block("blocks");
    BasicBlock* const inside = block("inside");
    BasicBlock* const work = block("work");
    BasicBlock* const join = block("join");
    BasicBlock* const after = block("after");
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    PHINode* const base = b_.CreatePHI(b_.getInt64Ty(), 2, "base");
    PHINode* const has_trapped = b_.CreatePHI(b_.getInt1Ty(), 2, "has_trapped");
    base->addIncoming(first, before);
    has_trapped->addIncoming(b_.getFalse(), before);
    b_.CreateCondBr(b_.CreateICmpULT(base, total), inside, after);

    b_.SetInsertPoint(inside);
    Value* const number = b_.CreateAdd(base, run, "block");
    Value* const exists = b_.CreateICmpULT(number, total);
    b_.CreateCondBr(b_.CreateAnd(exists, b_.CreateNot(has_trapped)), work, join);

    b_.SetInsertPoint(join);
    PHINode* const traps = b_.CreatePHI(b_.getInt1Ty(), 3, "trapped");
    traps->addIncoming(has_trapped, inside);
    std::vector<PHINode*> values;
    for (std::size_t n = 0; n < body_.accumulators.size(); ++n) {
      values.push_back(b_.CreatePHI(body_.accumulators[n], 3));
      values.back()->addIncoming(identity(n), inside);
    }
    b_.SetInsertPoint(work);
    emit_lane(number, blocks, join, traps, values);

    b_.SetInsertPoint(join);
    combine_lanes({values.begin(), values.end()}, number, exists);
    base->addIncoming(b_.CreateAdd(base, step, "", /*HasNUW=*/true), b_.GetInsertBlock());
    has_trapped->addIncoming(traps, b_.GetInsertBlock());
    b_.CreateBr(header);
    b_.SetInsertPoint(after);
  }

  llvm::Constant* identity(std::size_t n) {
    return identity_of_reduction(record_.reductions[n], body_.accumulators[n]);
  }

  // The iterations of this lane in block `number`; ends in `join`.
  void emit_lane(Value* number, Value* blocks, BasicBlock* join, PHINode* traps,
                 const std::vector<PHINode*>& values) {
    Value* row = b_.CreateUDiv(number, blocks);
    Value* const begin = b_.CreateMul(b_.CreateURem(number, blocks), i64(kReductionBlock));
    for (unsigned d = inner_; d-- > 0;) {
      index_[d] = b_.CreateAdd(low_[d], d == 0 ? row : b_.CreateURem(row, extent_[d]));
      if (d != 0) row = b_.CreateUDiv(row, extent_[d]);
    }
    Value* const end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                                b_.CreateAdd(begin, i64(kReductionBlock)), extent_[inner_]);
    Value* const first = b_.CreateAdd(begin, lane_);

    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const header = block("lane");
    BasicBlock* const inside = block("inside");
    BasicBlock* const trapped = block("trapped");
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    PHINode* const offset = b_.CreatePHI(b_.getInt64Ty(), 2, "offset");
    offset->addIncoming(first, before);
    std::vector<PHINode*> accumulators;
    for (std::size_t n = 0; n < values.size(); ++n) {
      accumulators.push_back(b_.CreatePHI(body_.accumulators[n], 2, "sum"));
      accumulators.back()->addIncoming(identity(n), before);
      values[n]->addIncoming(accumulators.back(), header);
      if (!body_.sites.empty()) values[n]->addIncoming(identity(n), trapped);
    }
    traps->addIncoming(b_.getFalse(), header);
    if (!body_.sites.empty()) traps->addIncoming(b_.getTrue(), trapped);
    b_.CreateCondBr(b_.CreateICmpULT(offset, end), inside, join);

    b_.SetInsertPoint(inside);
    index_[inner_] = b_.CreateAdd(low_[inner_], offset, "i");
    const std::vector<Value*> updated = call_body({accumulators.begin(), accumulators.end()}, trapped);
    offset->addIncoming(b_.CreateAdd(offset, i64(kReductionLanes), "", /*HasNUW=*/true), b_.GetInsertBlock());
    for (std::size_t n = 0; n < updated.size(); ++n) {
      accumulators[n]->addIncoming(updated[n], b_.GetInsertBlock());
    }
    b_.CreateBr(header);
    b_.SetInsertPoint(trapped);
    if (body_.sites.empty()) {
      trapped->eraseFromParent();
    } else {
      b_.CreateBr(join);
    }
  }

  // One value per work-item and reduction.
  void make_local_memory(Value* item) {
    for (llvm::Type* const type : body_.accumulators) {
      auto* const array = llvm::ArrayType::get(type, kReductionGroup);
      auto* const memory = new llvm::GlobalVariable(module_, array, false, llvm::GlobalValue::InternalLinkage,
                                                    llvm::UndefValue::get(array), "lanes", nullptr,
                                                    llvm::GlobalValue::NotThreadLocal, kLocalSpace);
      memory->setAlignment(llvm::Align(8));
      places_.push_back(b_.CreateInBoundsGEP(type, memory, item));
    }
  }

  // Lane l takes the value of lane l + 16, then + 8, 4, 2, 1; lane 0 writes the block's values.
  void combine_lanes(std::vector<Value*> values, Value* number, Value* exists) {
    for (std::size_t n = 0; n < values.size(); ++n) b_.CreateStore(values[n], places_[n]);
    for (std::uint64_t distance = kReductionLanes / 2; distance > 0; distance /= 2) {
      call_builtin(b_, Builtin::kBarrier);
      BasicBlock* const before = b_.GetInsertBlock();
      BasicBlock* const take = block("take");
      BasicBlock* const next = block("next");
      b_.CreateCondBr(b_.CreateICmpULT(lane_, i64(distance)), take, next);
      b_.SetInsertPoint(take);
      std::vector<Value*> combined;
      for (std::size_t n = 0; n < values.size(); ++n) {
        llvm::Type* const type = body_.accumulators[n];
        Value* const other = b_.CreateLoad(type, b_.CreateInBoundsGEP(type, places_[n], i64(distance)));
        combined.push_back(combine(b_, record_.reductions[n], values[n], other));
        if (distance > 1) b_.CreateStore(combined.back(), places_[n]);
      }
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
      for (std::size_t n = 0; n < values.size(); ++n) {
        PHINode* const merged = b_.CreatePHI(body_.accumulators[n], 2);
        merged->addIncoming(values[n], before);
        merged->addIncoming(combined[n], take);
        values[n] = merged;
      }
    }
    BasicBlock* const write = block("write");
    BasicBlock* const next = block("next");
    b_.CreateCondBr(b_.CreateAnd(exists, b_.CreateICmpEQ(lane_, i64(0))), write, next);
    b_.SetInsertPoint(write);
    Value* const place = b_.CreateMul(number, i64(values.size()));
    for (std::size_t n = 0; n < values.size(); ++n) {
      Value* const to = b_.CreateGEP(b_.getInt64Ty(), parameters_.partials(b_), b_.CreateAdd(place, i64(n)));
      b_.CreateStore(as_register(b_, values[n]), to);
    }
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    // Before the local memory is written again.
    call_builtin(b_, Builtin::kBarrier);
  }

  Value* group_number() {
    Value* number = call_builtin(b_, Builtin::kGroupId, 2);
    for (unsigned axis = 2; axis-- > 0;) {
      number = b_.CreateAdd(b_.CreateMul(number, call_builtin(b_, Builtin::kGroupCount, axis)),
                            call_builtin(b_, Builtin::kGroupId, axis));
    }
    return number;
  }
  Value* group_count() {
    Value* count = call_builtin(b_, Builtin::kGroupCount, 2);
    for (unsigned axis = 2; axis-- > 0;)
      count = b_.CreateMul(count, call_builtin(b_, Builtin::kGroupCount, axis));
    return count;
  }

  const bytecode::KernelRecord& record_;
  const KernelBody& body_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  EntryParameters parameters_;
  llvm::Function* const function_;
  const unsigned inner_;
  Value* arrays_ = nullptr;
  Value* low_[3] = {};
  Value* extent_[3] = {};
  Value* index_[3] = {};
  Value* lane_ = nullptr;
  std::vector<Value*> places_;  // of this work-item in local memory, by reduction
};

}  // namespace

DeviceEntry make_device_loop(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                             const KernelBody& body, Buffers buffers, const char* name,
                             llvm::Module& module) {
  return DeviceLoop(bytecode, record, body, buffers, name, module).emit();
}

}  // namespace dhpvm::codegen
