// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/device_loop.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/device/loop_emitter.h"
#include "codegen/device/trap_report.h"
#include "codegen/lower/reduce.h"

namespace dhpvm::codegen {

using bytecode::kReductionBlock;

DeviceEntry make_device_loop(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                             const KernelBody& body, const DeviceForm& form, const char* name,
                             llvm::Module& module) {
  return LoopEmitter(bytecode, record, body, form, name, module).emit();
}

LoopEmitter::LoopEmitter(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                         const KernelBody& body, const DeviceForm& form, const char* name,
                         llvm::Module& module)
    : record_(record),
      body_(body),
      form_(form),
      module_(module),
      b_(module.getContext()),
      parameters_(bytecode, record, body, form.buffers, name, module),
      function_(parameters_.function()),
      inner_(record.dimensions - 1u) {}

DeviceEntry LoopEmitter::emit() {
  b_.SetInsertPoint(block("entry"));
  arrays_ = parameters_.make_descriptors(b_);
  for (unsigned d = 0; d < record_.dimensions; ++d) {
    low_[d] = parameters_.low(d);
    // Below 2^63, so that steps from there do not overflow.
    extent_[d] = b_.CreateSub(parameters_.high(d), low_[d]);
  }
  switch (form_.dealing) {
    case Dealing::kSingly: emit_single(); break;
    case Dealing::kRuns: emit_run_blocks(); break;
    case Dealing::kShared: emit_shared(); break;
    case Dealing::kStrides: record_.reductions.empty() ? emit_strides() : emit_group_blocks(); break;
  }
  b_.CreateRetVoid();
  return {function_, parameters_.list()};
}

llvm::AllocaInst* LoopEmitter::entry_alloca(llvm::Type* type, const char* name) {
  BasicBlock& entry = function_->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, name);
}

void LoopEmitter::for_indices(Value* first, Value* end, unsigned d, Value* step,
                              llvm::function_ref<void(Value*)> inside) {
  if (!form_.has_small_indices) {
    counted(first, end, step, [&](Value* offset) {
      index_[d] = b_.CreateAdd(low_[d], offset, "i");
      inside(offset);
    });
    return;
  }
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); };
  // Extents and grid sizes together, and bounds of the loop, have no more bits.
  counted(narrow(first), narrow(end), narrow(step), [&](Value* offset) {
    Value* const index = b_.CreateAdd(narrow(low_[d]), offset, "", /*HasNUW=*/true, /*HasNSW=*/true);
    index_[d] = b_.CreateZExt(index, b_.getInt64Ty(), "i", /*IsNonNeg=*/true);
    inside(b_.CreateZExt(offset, b_.getInt64Ty(), "", /*IsNonNeg=*/true));
  });
}

void LoopEmitter::counted(Value* first, Value* end, Value* step, llvm::function_ref<void(Value*)> inside) {
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const header = block("loop");
  BasicBlock* const body = block("inside");
  BasicBlock* const after = block("after");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* const number = b_.CreatePHI(first->getType(), 2, "number");
  number->addIncoming(first, before);
  b_.CreateCondBr(b_.CreateICmpULT(number, end), body, after);
  b_.SetInsertPoint(body);
  inside(number);
  number->addIncoming(b_.CreateAdd(number, step, "", /*HasNUW=*/true), b_.GetInsertBlock());
  llvm::BranchInst* const back = b_.CreateBr(header);
  // The driver's compiler vectorises the loops over lanes.
  if (llvm::isa<llvm::ConstantInt>(first) && llvm::isa<llvm::ConstantInt>(end)) {
    llvm::LLVMContext& context = b_.getContext();
    llvm::MDNode* const whole =
        llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
    llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, whole});
    loop->replaceOperandWith(0, loop);
    back->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }
  b_.SetInsertPoint(after);
}

// ---- Without reductions: one iteration, or a loop over each dimension.

void LoopEmitter::emit_single() {
  for (unsigned d = 0; d <= inner_; ++d) {
    index_[d] = b_.CreateAdd(low_[d], call_builtin(b_, Builtin::kGlobalId, inner_ - d), "i");
  }
  call_body({}, leaving());
}

void LoopEmitter::emit_strides() {
  BasicBlock* const after = block("after");
  if (form_.square != nullptr) {
    BasicBlock* const squares = block("squares");
    BasicBlock* const strides = block("strides");
    b_.CreateCondBr(has_squares(), squares, strides);
    b_.SetInsertPoint(squares);
    emit_square_dimension(0);
    b_.CreateBr(after);
    b_.SetInsertPoint(strides);
  }
  form_.tiled != nullptr ? emit_tiled_dimension(0) : emit_dimension(0);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void LoopEmitter::emit_dimension(unsigned d) {
  const unsigned axis = inner_ - d;
  const auto inside = [&](Value*) {
    if (d < inner_) {
      emit_dimension(d + 1);
    } else {
      call_body({}, leaving());
    }
  };
  if (d == 0 && inner_ > 0) {
    const auto [begin, end] = band_of_group(d);
    Value* const first = b_.CreateAdd(begin, call_builtin(b_, Builtin::kLocalId, axis));
    for_indices(first, end, d, call_builtin(b_, Builtin::kLocalSize, axis), inside);
    return;
  }
  Value* const id = call_builtin(b_, Builtin::kGlobalId, axis);
  for_indices(id, extent_[d], d, call_builtin(b_, Builtin::kGlobalSize, axis), inside);
}

// The part of the outermost dimension for this group, as begin and end. Groups that run at the same time then compute
// neighbouring rows or planes, and find their neighbours' loads in the caches.
std::pair<llvm::Value*, llvm::Value*> LoopEmitter::band_of_group(unsigned d) {
  const unsigned axis = inner_ - d;
  Value* const size = call_builtin(b_, Builtin::kLocalSize, axis);
  Value* const groups = call_builtin(b_, Builtin::kGroupCount, axis);
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const cut = block("cut");
  BasicBlock* const known = block("known");
  // Usually each index has a work-item: a division would take longer than most bodies.
  b_.CreateCondBr(b_.CreateICmpUGE(b_.CreateMul(groups, size), extent_[d]), known, cut);
  b_.SetInsertPoint(cut);
  const auto divided_up = [&](Value* value, Value* by) {
    Value* const less = b_.CreateSub(value, i64(1));
    if (!form_.has_small_indices) return b_.CreateAdd(b_.CreateUDiv(less, by), i64(1));
    Value* const quotient =
        b_.CreateUDiv(b_.CreateTrunc(less, b_.getInt32Ty()), b_.CreateTrunc(by, b_.getInt32Ty()));
    return b_.CreateAdd(b_.CreateZExt(quotient, b_.getInt64Ty()), i64(1));
  };
  Value* const several = b_.CreateMul(divided_up(divided_up(extent_[d], size), groups), size);
  b_.CreateBr(known);
  b_.SetInsertPoint(known);
  llvm::PHINode* const band = b_.CreatePHI(b_.getInt64Ty(), 2, "band");
  band->addIncoming(size, before);
  band->addIncoming(several, cut);
  const auto within = [&](Value* value) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value, extent_[d]);
  };
  Value* const begin = within(b_.CreateMul(call_builtin(b_, Builtin::kGroupId, axis), band));
  return {begin, within(b_.CreateAdd(begin, band))};
}

void LoopEmitter::emit_tiled_dimension(unsigned d) {
  const unsigned axis = inner_ - d;
  Value* const group = call_builtin(b_, Builtin::kGroupId, axis);
  const auto go_on = [&] { d < inner_ ? emit_tiled_dimension(d + 1) : call_tiled_body(); };
  if (form_.run > 1 && axis == 1) {
    Value* const run = i64(form_.run);
    Value* const step = b_.CreateMul(call_builtin(b_, Builtin::kGroupCount, axis), run);
    for_indices(b_.CreateMul(group, run), extent_[d], d, step, [&](Value* offset) {
      first_[d] = index_[d];
      count_[d] = i64(1);
      turns_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, run, b_.CreateSub(extent_[d], offset));
      go_on();
    });
    return;
  }
  Value* const items = i64(axis == 0 ? form_.items : 1);
  Value* const size = b_.CreateUDiv(call_builtin(b_, Builtin::kLocalSize, axis), items);
  Value* const step = b_.CreateMul(call_builtin(b_, Builtin::kGroupCount, axis), size);
  for_indices(b_.CreateMul(group, size), extent_[d], d, step, [&](Value* offset) {
    first_[d] = index_[d];
    count_[d] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, size, b_.CreateSub(extent_[d], offset));
    index_[d] = b_.CreateAdd(first_[d], call_builtin(b_, Builtin::kLocalId, axis), "i");
    go_on();
  });
}

void LoopEmitter::call_tiled_body() {
  llvm::SmallVector<Value*> arguments = arguments_of_body();
  for (unsigned d = 0; d <= inner_; ++d) arguments.append({first_[d], count_[d]});
  if (turns_ != nullptr) arguments.push_back(turns_);
  b_.CreateCall(form_.tiled, arguments);
}

llvm::SmallVector<llvm::Value*> LoopEmitter::arguments_of_body() {
  Value* const unused = llvm::PoisonValue::get(b_.getPtrTy());
  llvm::SmallVector<Value*> arguments = {arrays_, /*stop*/ unused, /*traps*/ unused};
  for (unsigned d = 0; d <= inner_; ++d) arguments.push_back(index_[d]);
  for (std::size_t n = 0; n < body_.scalars.size(); ++n) arguments.push_back(parameters_.scalar(b_, n));
  return arguments;
}

llvm::BasicBlock* LoopEmitter::leaving() {
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  BasicBlock* const leave = block("leave");
  b_.SetInsertPoint(leave);
  b_.CreateRetVoid();
  return leave;
}

LoopEmitter::Values LoopEmitter::call_body(const Values& accumulators, BasicBlock* trapped) {
  llvm::SmallVector<Value*> arguments = arguments_of_body();
  arguments.append(accumulators.begin(), accumulators.end());
  llvm::CallInst* const result = b_.CreateCall(body_.function, arguments);
  if (!body_.sites.empty()) leave_if_trapped(result, trapped, [] {});
  Values values;
  for (unsigned n = 0; n < accumulators.size(); ++n) {
    values.push_back(b_.CreateExtractValue(result, kAccumulators + n));
  }
  return values;
}

void LoopEmitter::leave_if_trapped(Value* result, BasicBlock* trapped,
                                   llvm::function_ref<void()> before_report) {
  Value* const site = b_.CreateExtractValue(result, kSite);
  BasicBlock* const report = block("report");
  BasicBlock* const go_on = block("go.on");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(b_.CreateICmpNE(site, b_.getInt32(0)), report, go_on,
                  metadata.createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(report);
  before_report();
  report_trap(result, site);
  b_.CreateBr(trapped);
  b_.SetInsertPoint(go_on);
}

void LoopEmitter::report_trap(Value* result, Value* site) {
  llvm::SmallVector<Value*> arguments = {parameters_.report(b_), b_.CreateSub(site, b_.getInt32(1)),
                                         b_.CreateExtractValue(result, kTrapArray)};
  for (unsigned d = 0; d < 3; ++d) arguments.push_back(index_[d] != nullptr ? index_[d] : i64(0));
  for (unsigned n = 0; n < 3; ++n) arguments.push_back(b_.CreateExtractValue(result, kOperands + n));
  b_.CreateCall(declare_report_trap(module_), arguments);
}

// ---- Blocks of reductions

llvm::Constant* LoopEmitter::identity(std::size_t reduction) {
  return identity_of_reduction(record_.reductions[reduction], body_.accumulators[reduction]);
}

llvm::Value* LoopEmitter::blocks_of_row() {
  return b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(extent_[inner_], i64(1)), i64(kReductionBlock)), i64(1));
}

llvm::Value* LoopEmitter::blocks_of_chunk(Value* blocks_of_row) {
  Value* total = blocks_of_row;
  for (unsigned d = 0; d < inner_; ++d) total = b_.CreateMul(total, extent_[d]);
  return total;
}

std::pair<llvm::Value*, llvm::Value*> LoopEmitter::enter_block(Value* number, Value* blocks_of_row) {
  Value* row = b_.CreateUDiv(number, blocks_of_row);
  Value* const begin = b_.CreateMul(b_.CreateURem(number, blocks_of_row), i64(kReductionBlock));
  for (unsigned d = inner_; d-- > 0;) {
    index_[d] = b_.CreateAdd(low_[d], d == 0 ? row : b_.CreateURem(row, extent_[d]));
    if (d != 0) row = b_.CreateUDiv(row, extent_[d]);
  }
  Value* const end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                              b_.CreateAdd(begin, i64(kReductionBlock)), extent_[inner_]);
  return {begin, end};
}

void LoopEmitter::write_partials(Value* number, const Values& values) {
  Value* const place = b_.CreateMul(number, i64(values.size()));
  for (std::size_t n = 0; n < values.size(); ++n) {
    Value* const to = b_.CreateGEP(b_.getInt64Ty(), parameters_.partials(b_), b_.CreateAdd(place, i64(n)));
    b_.CreateStore(as_register(b_, values[n]), to);
  }
}

llvm::Value* LoopEmitter::linear(Builtin id, Builtin count) {
  Value* number = call_builtin(b_, id, 2);
  for (unsigned axis = 2; axis-- > 0;) {
    number = b_.CreateAdd(b_.CreateMul(number, call_builtin(b_, count, axis)), call_builtin(b_, id, axis));
  }
  return number;
}

llvm::Value* LoopEmitter::product(Builtin count) {
  Value* number = call_builtin(b_, count, 2);
  for (unsigned axis = 2; axis-- > 0;) number = b_.CreateMul(number, call_builtin(b_, count, axis));
  return number;
}

}  // namespace dhpvm::codegen
