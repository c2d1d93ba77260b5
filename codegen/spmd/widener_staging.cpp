// SPDX-License-Identifier: Apache-2.0
// Operands that are brought into the order of the lanes (staging.h).
#include <algorithm>

#include "codegen/spmd/staging.h"
#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

// A cache line: no vector is longer.
constexpr std::uint64_t kBufferAlignment = 64;

}  // namespace

llvm::AllocaInst* Widener::new_staging_buffer(std::uint64_t bytes) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  llvm::AllocaInst* const buffer = at_entry.CreateAlloca(llvm::ArrayType::get(at_entry.getInt8Ty(), bytes));
  buffer->setAlignment(llvm::Align(kBufferAlignment));
  return buffer;
}

// All lanes of a turn lie side by side, active or not.
llvm::Value* Widener::staged_place(const llvm::CallInst& access, llvm::Type* vector) {
  return builder_.CreateInBoundsGEP(vector, values_.scalar(access.getArgOperand(0)),
                                    values_.scalar(access.getArgOperand(1)));
}

void Widener::access_staged(const llvm::CallInst& access) {
  const bool loads = calls(access, kStagedLoad);
  llvm::Type* const element = loads ? access.getType() : access.getArgOperand(2)->getType();
  llvm::Type* const vector = widen(element, width_);
  const std::uint64_t bytes = std::uint64_t{width_} * element->getScalarSizeInBits() / 8;
  const llvm::Align align(std::min(bytes, kBufferAlignment));
  llvm::Value* const place = staged_place(access, vector);
  if (loads) {
    values_.set_vector(&access, builder_.CreateAlignedLoad(vector, place, align));
  } else {
    builder_.CreateAlignedStore(values_.vector(access.getArgOperand(2)), place, align);
  }
}

// Inactive lanes read the row of the first active one, and write to memory that is never read.
llvm::Value* Widener::rows_of_active(const llvm::CallInst& copy, RowCopy direction) {
  llvm::Value* const rows = values_.vector(copy.getArgOperand(1));
  if (is_full(mask_)) return rows;
  llvm::Value* row = nullptr;
  if (direction == RowCopy::kFill) {
    llvm::Value* const bits = builder_.CreateBitCast(mask_, builder_.getIntNTy(width_));
    llvm::Value* const lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue());
    row = builder_.CreateExtractElement(rows, lane);
  } else {
    if (unused_row_ == nullptr) unused_row_ = new_staging_buffer(kStagedRowBytes);
    row = unused_row_;
  }
  return builder_.CreateSelect(mask_, rows, builder_.CreateVectorSplat(width_, row));
}

RowCopyForm Widener::row_copy_form(const llvm::CallInst& call) const {
  return {.direction = calls(call, kDrainToRows) ? RowCopy::kDrain : RowCopy::kFill,
          .width = width_,
          .vector_bits = options_.vector_bits,
          .element_bits = call.getCalledFunction()->getName().ends_with(".i64") ? 64U : 32U};
}

void Widener::copy_staged_rows(const llvm::CallInst& call) {
  const RowCopyForm form = row_copy_form(call);
  llvm::Module& module = *result_.getParent();
  llvm::CallInst* const made =
      builder_.CreateCall(calls(call, kPackRows) ? pack_rows(module, form) : copy_rows(module, form),
                          {values_.scalar(call.getArgOperand(0)), rows_of_active(call, form.direction),
                           values_.scalar(call.getArgOperand(2))});
  if (form.direction == RowCopy::kFill) {
    made->addFnAttr(llvm::Attribute::get(builder_.getContext(), kOnceForAllRows));
  }
}

void Widener::pack_staged_columns(const llvm::CallInst& call) {
  llvm::SmallVector<llvm::Value*, 5> arguments;
  for (const llvm::Use& argument : call.args()) arguments.push_back(values_.scalar(argument));
  llvm::Value* columns = builder_.getInt64(~std::uint64_t{0} >> (64 - width_));
  if (!is_full(mask_)) {
    llvm::Value* const bits = builder_.CreateBitCast(mask_, builder_.getIntNTy(width_));
    columns = builder_.CreateZExt(bits, builder_.getInt64Ty());
  }
  arguments.push_back(columns);
  llvm::CallInst* const made =
      builder_.CreateCall(pack_columns(*result_.getParent(), row_copy_form(call)), arguments);
  made->addFnAttr(llvm::Attribute::get(builder_.getContext(), kOnceForAllRows));
}

bool Widener::staged(const llvm::CallInst& call) {
  if (calls(call, kStagingBuffer)) {
    const std::uint64_t bytes = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue();
    values_.set_scalar(&call, new_staging_buffer(bytes));
  } else if (calls(call, kStagedLoad) || calls(call, kStagedStore)) {
    access_staged(call);
  } else if (calls(call, kPackColumns)) {
    pack_staged_columns(call);
  } else if (calls(call, kFillFromRows) || calls(call, kPackRows) || calls(call, kDrainToRows)) {
    copy_staged_rows(call);
  } else if (calls(call, kInAllLanes)) {
    llvm::Value* const holds = values_.vector(call.getArgOperand(0));
    llvm::Value* const off = llvm::Constant::getAllOnesValue(holds->getType());
    values_.set_scalar(&call, builder_.CreateAndReduce(blend(mask_, holds, off)));
  } else if (calls(call, kLeastInLanes)) {
    llvm::Value* const value = values_.vector(call.getArgOperand(0));
    llvm::Value* const off = llvm::Constant::getAllOnesValue(value->getType());
    values_.set_scalar(&call, builder_.CreateIntMinReduce(blend(mask_, value, off), /*IsSigned=*/false));
  } else {
    return false;
  }
  return true;
}

}  // namespace dhpvm::codegen::spmd
