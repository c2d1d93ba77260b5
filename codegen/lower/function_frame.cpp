// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/function_frame.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/object_marks.h"

namespace dhpvm::codegen {

using bytecode::kNoIndex;
using llvm::BasicBlock;

llvm::Value* FunctionFrame::stack_has_room() {
  llvm::LLVMContext& context = b_.getContext();
  const llvm::Triple triple(unit_.module.getTargetTriple());
  const char* const name = triple.isX86() ? "rsp" : "sp";
  llvm::Metadata* const reg = llvm::MDNode::get(context, llvm::MDString::get(context, name));
  llvm::Value* const sp = b_.CreateIntrinsic(llvm::Intrinsic::read_register, {b_.getInt64Ty()},
                                             {llvm::MetadataAsValue::get(context, reg)});
  llvm::Value* const limit =
      ir_.load(b_.getInt64Ty(), ir_.byte_offset(state, unit_.layout.state.native_limit),
               {Access::kContext, Access::kNativeLimit});
  return b_.CreateICmpUGE(sp, limit);
}

llvm::Value* FunctionFrame::exact_ticks() {
  llvm::Value* const untaken = strips_.back_edges_left();
  return untaken == nullptr ? ticks() : b_.CreateAdd(ticks(), untaken);
}

BasicBlock* FunctionFrame::callee_trapped() {
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  BasicBlock* const block = ir_.new_block("callee.trapped");
  b_.SetInsertPoint(block);
  ir_.store(exact_ticks(), ir_.byte_offset(state, unit_.layout.state.ticks),
            {Access::kContext, Access::kTicks});
  leave();
  return block;
}

void FunctionFrame::leave_if_null(llvm::Value* result) {
  BasicBlock* const go_on = ir_.new_block("made");
  ir_.branch_cold(b_.CreateIsNull(result), callee_trapped(), go_on);
  b_.SetInsertPoint(go_on);
}

void FunctionFrame::leave_if_trapped(llvm::Value* ticks_left) {
  BasicBlock* const go_on = ir_.new_block("returned");
  ir_.branch_cold(b_.CreateICmpSLT(ticks_left, ir_.constant(0)), exit, go_on);
  b_.SetInsertPoint(go_on);
  b_.CreateStore(ticks_left, ticks_slot);
}

llvm::Value* FunctionFrame::state_field(std::uint32_t offset, Access::Family family) {
  return ir_.load(b_.getPtrTy(), ir_.byte_offset(state, offset), {family, 0});
}

llvm::Value* FunctionFrame::reference_place(llvm::Value* first, std::uint32_t index) {
  return index == 0 ? first : b_.CreateConstInBoundsGEP1_32(b_.getPtrTy(), first, index);
}

void FunctionFrame::mirror_ahead(const Instruction& i) {
  const MirrorSite& site = mirror_.at(i.pc);
  if (site.when == MirrorSite::When::kAlways) store_references(site);
}

llvm::Value* FunctionFrame::mirror_in_slow_path(const Instruction& i) {
  const MirrorSite& site = mirror_.at(i.pc);
  if (site.when == MirrorSite::When::kInSlowPath) store_references(site);
  return reference_place(r, site.size);
}

llvm::Value* FunctionFrame::mirror(const Instruction& i) {
  const MirrorSite& site = mirror_.at(i.pc);
  store_references(site);
  return reference_place(r, site.size);
}

void FunctionFrame::store_references(const MirrorSite& site) {
  Mutation* const mutation = unit_.mutation;
  for (const MirrorSite::Store& store : site.stores) {
    const bool is_null = store.reg == kNoIndex;
    if (mutation != nullptr && !is_null && mutation->mirror_stores++ == mutation->mirror_store) continue;
    llvm::Value* const value =
        is_null ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : registers_.get_reference(store.reg);
    ir_.mark(*ir_.store(value, reference_place(r, store.place), {Access::kMirror}), kRootMark);
  }
}

}  // namespace dhpvm::codegen
