// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/transfer.h"

#include "codegen/spmd/second_body.h"
#include "codegen/spmd/staging.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

namespace dhpvm::codegen::spmd {
namespace {

using std::int64_t;
using std::uint64_t;

// The stride modulo the width of `type`, so that equal strides compare equal. Strides are tracked for integers of 8 to
// 64 bits and for pointers.
Shape affine(uint64_t stride, const llvm::Type* type) {
  if (type->isPointerTy()) return Shape::affine(static_cast<int64_t>(stride));
  const unsigned bits = type->isIntegerTy() ? type->getIntegerBitWidth() : 0;
  if (bits < 8 || bits > 64) return Shape::varying();
  return Shape::affine(static_cast<int64_t>(stride << (64 - bits)) >> (64 - bits));
}

uint64_t stride(Shape shape) { return static_cast<uint64_t>(shape.stride()); }

Shape transfer_binary(const llvm::BinaryOperator& instruction, Shape a, Shape b) {
  const llvm::Type* type = instruction.getType();
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Add: return affine(stride(a) + stride(b), type);
    case llvm::Instruction::Sub: return affine(stride(a) - stride(b), type);
    case llvm::Instruction::Or:
      // A disjoint `or` is an addition.
      if (llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint()) {
        return affine(stride(a) + stride(b), type);
      }
      return Shape::varying();
    case llvm::Instruction::Xor: {
      // LLVM makes this of `n - i - 1`, which counts backwards: inverting all bits of i gives -i - 1.
      const auto* right = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
      return right != nullptr && right->isMinusOne() ? affine(-stride(a), type) : Shape::varying();
    }
    case llvm::Instruction::Mul: {
      const auto* left = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(0));
      const auto* right = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
      const llvm::ConstantInt* factor = left != nullptr ? left : right;
      if (factor == nullptr || factor->getBitWidth() > 64) return Shape::varying();
      return affine(stride(left != nullptr ? b : a) * factor->getZExtValue(), type);
    }
    case llvm::Instruction::Shl: {
      const auto* amount = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
      if (amount == nullptr || amount->getValue().uge(64)) return Shape::varying();
      return affine(stride(a) << amount->getZExtValue(), type);
    }
    default: return Shape::varying();
  }
}

Shape transfer_gep(const llvm::GEPOperator& gep, ShapeLookup shape_of) {
  const llvm::DataLayout& layout = llvm::cast<llvm::Instruction>(gep).getDataLayout();
  Shape base = shape_of(gep.getPointerOperand());
  if (!base.is_affine()) return base;
  uint64_t sum = stride(base);
  for (auto type = llvm::gep_type_begin(gep); type != llvm::gep_type_end(gep); ++type) {
    const llvm::Value* index = type.getOperand();
    const Shape shape = shape_of(index);
    if (!shape.is_affine()) return shape;
    if (shape.is_uniform()) continue;
    // A narrower index is sign-extended, which loses the stride where it wraps.
    if (index->getType()->getIntegerBitWidth() != 64) return Shape::varying();
    const llvm::TypeSize size = type.getSequentialElementStride(layout);
    if (size.isScalable()) return Shape::varying();
    sum += stride(shape) * size.getFixedValue();
  }
  return Shape::affine(static_cast<int64_t>(sum));
}

Shape transfer_compare(const llvm::ICmpInst& compare, Shape a, Shape b) {
  // Equality of two values with the same stride is uniform; their order is not, because they may wrap between the
  // lanes.
  return compare.isEquality() && a == b ? Shape::uniform() : Shape::varying();
}

// Calls `visit` for `pointer` and, as long as that returns true, for all its possible sources. Returns whether all
// calls did.
bool visit_sources(const llvm::Value* pointer, llvm::function_ref<bool(const llvm::Value*)> visit) {
  llvm::SmallVector<const llvm::Value*, 4> work{pointer};
  llvm::SmallPtrSet<const llvm::Value*, 4> seen;
  while (!work.empty()) {
    const llvm::Value* source = work.pop_back_val();
    if (!seen.insert(source).second) continue;
    if (!visit(source)) return false;
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(source)) {
      work.push_back(gep->getPointerOperand());
    } else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(source)) {
      work.append(phi->op_begin(), phi->op_end());
    } else if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(source)) {
      work.append({select->getTrueValue(), select->getFalseValue()});
    }
  }
  return true;
}

}  // namespace

const llvm::AllocaInst* private_base(const llvm::Value* pointer) {
  const llvm::AllocaInst* base = nullptr;
  const bool derived = visit_sources(pointer, [&](const llvm::Value* source) {
    if (llvm::isa<llvm::GEPOperator, llvm::PHINode, llvm::SelectInst>(source)) return true;
    const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(source);
    if (alloca == nullptr || (base != nullptr && base != alloca)) return false;
    base = alloca;
    return true;
  });
  return derived ? base : nullptr;
}

bool is_private_multiple(const llvm::Value* pointer, unsigned bytes, const llvm::DataLayout& layout) {
  return visit_sources(pointer, [&](const llvm::Value* source) {
    const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(source);
    if (gep == nullptr) return true;
    llvm::MapVector<llvm::Value*, llvm::APInt> strides;
    llvm::APInt constant(64, 0);
    if (!gep->collectOffset(layout, 64, strides, constant) || constant.urem(bytes) != 0) return false;
    return llvm::all_of(strides, [&](const auto& stride) { return stride.second.urem(bytes) == 0; });
  });
}

Shape transfer(const llvm::Instruction& instruction, ShapeLookup shape_of) {
  bool all_uniform = true;
  bool all_affine = true;
  for (const llvm::Value* operand : instruction.operands()) {
    if (!llvm::isa<llvm::Constant, llvm::Argument, llvm::Instruction>(operand)) continue;
    const Shape shape = shape_of(operand);
    if (!shape.is_known()) return shape;
    all_uniform &= shape.is_uniform();
    all_affine &= shape.is_affine();
  }
  if (llvm::isa<llvm::AllocaInst>(instruction)) return Shape::uniform();
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) return Shape::varying();
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const bool is_private = private_base(load->getPointerOperand()) != nullptr;
    return all_uniform && !is_private ? Shape::uniform() : Shape::varying();
  }
  if (calls(instruction, kStagedLoad)) return Shape::varying();
  if (calls(instruction, kInAllLanes) || calls(instruction, kLeastInLanes)) return Shape::uniform();
  if (all_uniform || asks_about_lanes(instruction)) return Shape::uniform();
  const auto operand_shape = [&](unsigned index) { return shape_of(instruction.getOperand(index)); };
  if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(&instruction)) return transfer_gep(*gep, shape_of);
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    if (!operand_shape(0).is_uniform()) return Shape::varying();
    return shape_of(select->getTrueValue()).join(shape_of(select->getFalseValue()));
  }
  if (!all_affine) return Shape::varying();
  if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    return transfer_binary(*binary, operand_shape(0), operand_shape(1));
  }
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
    return transfer_compare(*compare, operand_shape(0), operand_shape(1));
  }
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Trunc:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::Freeze:
      // Only truncation or no change: pointers have 64 bits.
      if (instruction.getType()->isIntegerTy() && instruction.getType()->getIntegerBitWidth() > 64) break;
      if (instruction.getOpcode() == llvm::Instruction::IntToPtr &&
          instruction.getOperand(0)->getType()->getIntegerBitWidth() != 64) {
        break;
      }
      return affine(stride(operand_shape(0)), instruction.getType());
    default: break;
  }
  return Shape::varying();
}

}  // namespace dhpvm::codegen::spmd
