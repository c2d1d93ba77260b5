// SPDX-License-Identifier: Apache-2.0
// Operands that are brought into the order of the lanes (staging.h).
#include <algorithm>

#include "codegen/spmd/staging.h"
#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

// Of a cache line, which no vector is longer than.
constexpr std::uint64_t kBufferAlignment = 64;

}  // namespace

void Widener::staging_buffer(const llvm::CallInst& call) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  const std::uint64_t bytes = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue();
  llvm::AllocaInst* const buffer = at_entry.CreateAlloca(llvm::ArrayType::get(at_entry.getInt8Ty(), bytes));
  buffer->setAlignment(llvm::Align(kBufferAlignment));
  values_.set_scalar(&call, buffer);
}

// All lanes of a turn lie side by side, active or not.
void Widener::load_staged(const llvm::CallInst& load) {
  llvm::Type* const type = widen(load.getType(), width_);
  const std::uint64_t bytes = std::uint64_t{width_} * load.getType()->getScalarSizeInBits() / 8;
  llvm::Value* const first = builder_.CreateInBoundsGEP(type, values_.scalar(load.getArgOperand(0)),
                                                        values_.scalar(load.getArgOperand(1)));
  const llvm::Align align(std::min(bytes, kBufferAlignment));
  values_.set_vector(&load, builder_.CreateAlignedLoad(type, first, align));
}

void Widener::fill(const llvm::CallInst& call) {
  llvm::Value* rows = values_.vector(call.getArgOperand(1));
  if (!is_full(mask_)) {
    // Lanes that are off go along the row of the first that is on.
    llvm::Value* const bits = builder_.CreateBitCast(mask_, builder_.getIntNTy(width_));
    llvm::Value* const lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue());
    llvm::Value* const row = builder_.CreateExtractElement(rows, lane);
    rows = builder_.CreateSelect(mask_, rows, builder_.CreateVectorSplat(width_, row));
  }
  const FillForm form{.width = width_,
                      .vector_bits = options_.vector_bits,
                      .element_bits = call.getCalledFunction()->getName().ends_with(".i64") ? 64U : 32U};
  llvm::CallInst* const made = builder_.CreateCall(
      fill_from_rows(*result_.getParent(), form),
      {values_.scalar(call.getArgOperand(0)), rows, values_.scalar(call.getArgOperand(2))});
  made->addFnAttr(llvm::Attribute::get(builder_.getContext(), kOnceForAllRows));
}

}  // namespace dhpvm::codegen::spmd
