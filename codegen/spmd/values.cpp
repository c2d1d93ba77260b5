// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/values.h"

#include <llvm/IR/DerivedTypes.h>

namespace dhpvm::codegen::spmd {
namespace {

llvm::Value* splat(llvm::IRBuilder<>& builder, llvm::Value* scalar, unsigned width) {
  auto* type = llvm::dyn_cast<llvm::StructType>(scalar->getType());
  if (type == nullptr) return builder.CreateVectorSplat(width, scalar);
  llvm::Value* result = llvm::PoisonValue::get(widen(type, width));
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    result =
        builder.CreateInsertValue(result, splat(builder, builder.CreateExtractValue(scalar, i), width), i);
  }
  return result;
}

// The affine vector whose first lane is `base`.
llvm::Value* ramp(llvm::IRBuilder<>& builder, llvm::Value* base, std::int64_t stride, unsigned width) {
  llvm::Type* type = base->getType();
  llvm::Type* step_type = type->isPointerTy() ? builder.getInt64Ty() : type;
  llvm::SmallVector<llvm::Constant*, 64> steps;
  for (unsigned lane = 0; lane < width; ++lane) {
    const std::uint64_t step = static_cast<std::uint64_t>(stride) * lane;
    steps.push_back(llvm::ConstantInt::get(step_type, step, /*IsSigned=*/true));
  }
  llvm::Constant* offsets = llvm::ConstantVector::get(steps);
  if (type->isPointerTy()) return builder.CreateGEP(builder.getInt8Ty(), base, offsets);
  return builder.CreateAdd(builder.CreateVectorSplat(width, base), offsets);
}

}  // namespace

llvm::Type* widen(llvm::Type* type, unsigned width) {
  if (llvm::VectorType::isValidElementType(type)) return llvm::FixedVectorType::get(type, width);
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  if (structure == nullptr) return nullptr;
  llvm::SmallVector<llvm::Type*, 8> elements;
  for (llvm::Type* element : structure->elements()) {
    elements.push_back(widen(element, width));
    if (elements.back() == nullptr) return nullptr;
  }
  return llvm::StructType::get(type->getContext(), elements);
}

bool is_full(const llvm::Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant != nullptr && constant->isAllOnesValue();
}

llvm::Value* Values::scalar(const llvm::Value* value) const {
  value = resolve(value);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value))
    return const_cast<llvm::Constant*>(constant);
  return scalars_.lookup(value);
}

llvm::Value* Values::vector(const llvm::Value* value) {
  value = resolve(value);
  if (const auto found = vectors_.find(value); found != vectors_.end()) return found->second;
  llvm::Value* base = scalar(value);
  const Shape shape = divergence_.shape(value);
  llvm::IRBuilder<> builder(end_of_entry_);
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(base)) {
    // None at the end of an unfinished block.
    const auto behind = instruction->getInsertionPointAfterDef();
    builder.SetInsertPoint(instruction->getParent(), behind.value_or(instruction->getParent()->end()));
  }
  llvm::Value* vector =
      shape.is_uniform() ? splat(builder, base, width_) : ramp(builder, base, shape.stride(), width_);
  // Constants are not stored: they are cheap, and dominate everything.
  if (!llvm::isa<llvm::Constant>(value)) vectors_[value] = vector;
  return vector;
}

llvm::Value* Values::lane(const llvm::Value* value, llvm::Value* number, llvm::IRBuilder<>& builder) {
  const Shape shape = this->shape(value);
  if (shape.is_uniform()) return scalar(value);
  if (shape.is_affine() && value->getType()->isIntegerTy()) {
    llvm::Type* type = value->getType();
    llvm::Value* distance = builder.CreateMul(builder.CreateZExtOrTrunc(number, type),
                                              llvm::ConstantInt::getSigned(type, shape.stride()));
    return builder.CreateAdd(scalar(value), distance);
  }
  return builder.CreateExtractElement(vector(value), number);
}

}  // namespace dhpvm::codegen::spmd
