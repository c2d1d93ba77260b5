// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/block_accumulators.h"

#include <utility>

#include "codegen/lower/reduce.h"
#include "codegen/spmd/counted_loop.h"

namespace dhpvm::codegen {

using bytecode::kReductionLanes;
using llvm::Value;

BlockAccumulators::BlockAccumulators(llvm::IRBuilder<>& b, const std::vector<bytecode::Reduction>& reductions,
                                     const std::vector<llvm::Type*>& types, unsigned width)
    : b_(b), reductions_(reductions), types_(types), width_(width), groups_(kReductionLanes / width) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  for (llvm::Type* const type : types_) {
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    memory_.push_back(at_entry.CreateAlloca(llvm::ArrayType::get(vector_of(type), groups_)));
  }
}

llvm::Type* BlockAccumulators::vector_of(llvm::Type* type) const {
  return width_ == 1 ? type : llvm::FixedVectorType::get(type, width_);
}

llvm::Type* BlockAccumulators::bits_of(std::size_t n) const {
  return vector_of(b_.getIntNTy(static_cast<unsigned>(types_[n]->getPrimitiveSizeInBits())));
}

Value* BlockAccumulators::identity_of(std::size_t n) const {
  llvm::Constant* const scalar = identity_of_reduction(reductions_[n], types_[n]);
  if (width_ == 1) return scalar;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(width_), scalar);
}

Value* BlockAccumulators::place(std::size_t n, Value* group) {
  return b_.CreateInBoundsGEP(vector_of(types_[n]), memory_[n], group);
}

void BlockAccumulators::reset() {
  for (std::size_t n = 0; n < memory_.size(); ++n) {
    for (unsigned group = 0; group < groups_; ++group)
      b_.CreateStore(identity_of(n), place(n, b_.getInt64(group)));
  }
}

std::vector<Value*> BlockAccumulators::load(Value* group) {
  std::vector<Value*> vectors;
  for (std::size_t n = 0; n < memory_.size(); ++n)
    vectors.push_back(b_.CreateLoad(vector_of(types_[n]), place(n, group)));
  return vectors;
}

void BlockAccumulators::store(Value* group, const std::vector<Value*>& vectors) {
  for (std::size_t n = 0; n < memory_.size(); ++n) b_.CreateStore(vectors[n], place(n, group));
}

// ---- Lanes passed between the parts of a block

// Calls each(n, group, address) for each reduction and `width` lanes, `address` being that of their registers.
template <typename Each>
void BlockAccumulators::for_lanes(Value* lanes, Each&& each) {
  for (std::size_t n = 0; n < memory_.size(); ++n) {
    Value* const first =
        b_.CreateInBoundsGEP(b_.getInt8Ty(), lanes, b_.getInt64(std::uint64_t{8} * kReductionLanes * n));
    const auto each_group = [&](Value* group) {
      each(n, group, b_.CreateInBoundsGEP(vector_of(b_.getInt64Ty()), first, group));
    };
    // Accumulators with a constant address stay in registers.
    if (groups_ == 1) {
      each_group(b_.getInt64(0));
    } else {
      spmd::counted_loop(b_, b_.getInt64(0), b_.getInt64(groups_), b_.getInt64(1), "lanes", each_group);
    }
  }
}

void BlockAccumulators::load_lanes(Value* lanes) {
  for_lanes(lanes, [&](std::size_t n, Value* group, Value* address) {
    Value* const registers =
        b_.CreateAlignedLoad(vector_of(b_.getInt64Ty()), address, llvm::Align(alignof(std::uint64_t)));
    Value* const values = b_.CreateBitCast(b_.CreateTrunc(registers, bits_of(n)), vector_of(types_[n]));
    b_.CreateStore(values, place(n, group));
  });
}

void BlockAccumulators::store_lanes(Value* lanes) {
  for_lanes(lanes, [&](std::size_t n, Value* group, Value* address) {
    Value* const values = b_.CreateLoad(vector_of(types_[n]), place(n, group));
    Value* const registers = b_.CreateZExt(b_.CreateBitCast(values, bits_of(n)), vector_of(b_.getInt64Ty()));
    b_.CreateAlignedStore(registers, address, llvm::Align(alignof(std::uint64_t)));
  });
}

// ---- The end of a block

// Reduces to a scalar: first combines the groups, then halves.
Value* BlockAccumulators::combined(std::size_t n) {
  std::vector<Value*> vectors;
  for (unsigned group = 0; group < groups_; ++group)
    vectors.push_back(b_.CreateLoad(vector_of(types_[n]), place(n, b_.getInt64(group))));
  while (vectors.size() > 1) {
    const std::size_t half = vectors.size() / 2;
    for (std::size_t v = 0; v < half; ++v)
      vectors[v] = combine(b_, reductions_[n], vectors[v], vectors[v + half]);
    vectors.resize(half);
  }
  Value* value = vectors.front();
  for (unsigned width = width_; width > 1; width /= 2) {
    const auto half_of = [&](unsigned first) {
      llvm::SmallVector<int> lanes;
      for (unsigned lane = 0; lane < width / 2; ++lane) lanes.push_back(static_cast<int>(first + lane));
      return b_.CreateShuffleVector(value, lanes);
    };
    Value* const left = half_of(0);
    value = combine(b_, reductions_[n], left, half_of(width / 2));
  }
  return width_ > 1 ? b_.CreateExtractElement(value, std::uint64_t{0}) : value;
}

Value* BlockAccumulators::finish(Value* partials) {
  const auto entry = [&](std::size_t n) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), partials, b_.getInt64(8 * n));
  };
  for (std::size_t n = 0; n < memory_.size(); ++n) {
    Value* const value = combined(n);
    b_.CreateStore(as_register(b_, value), entry(n));
  }
  return entry(memory_.size());
}

}  // namespace dhpvm::codegen
