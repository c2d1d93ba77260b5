// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/widener.h"

#include <llvm/Analysis/Loads.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"
#include "codegen/spmd/staging.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

// A divisor that cannot trap for any dividend: not 0, and if signed not -1.
bool is_safe_divisor(const llvm::Value* divisor) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(divisor);
  return constant != nullptr && !constant->isZero() && !constant->isMinusOne();
}

}  // namespace

bool needs_lanes(const llvm::Instruction& instruction, const Divergence& divergence) {
  if (const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction); pointer != nullptr) {
    if (instruction.isVolatile() || instruction.isAtomic()) return true;
    if (!divergence.shape(pointer).is_uniform()) return false;
    // Array descriptors are readable even if no lane is active.
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load != nullptr && private_base(pointer) == nullptr &&
        llvm::isDereferenceableAndAlignedPointer(pointer, load->getType(), load->getAlign(),
                                                 load->getDataLayout())) {
      return false;
    }
    // A dynamic index may be outside of a local array as well.
    const llvm::DataLayout& layout = instruction.getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    return !llvm::isa<llvm::AllocaInst>(
        pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true));
  }
  if (instruction.isIntDivRem()) {
    return divergence.shape(&instruction).is_uniform() && !is_safe_divisor(instruction.getOperand(1));
  }
  if (llvm::isa<llvm::IntrinsicInst>(instruction)) return false;
  if (calls(instruction, kStagedLoad) || calls(instruction, kStagedStore) ||
      calls(instruction, kStagingBuffer)) {
    return false;
  }
  return instruction.mayHaveSideEffects() || llvm::isa<llvm::CallInst, llvm::FenceInst>(instruction);
}

unsigned cost_of(const llvm::Instruction& instruction, const Divergence& divergence) {
  if (llvm::isa<llvm::PHINode, llvm::BranchInst>(instruction)) return 0;
  if (divergence.shape(&instruction).is_affine() && !instruction.mayReadOrWriteMemory()) return 0;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    return llvm::isa<llvm::IntrinsicInst>(call) || calls(*call, kStagedLoad) || calls(*call, kStagedStore)
               ? 2
               : 24;
  }
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FDiv: return 5;
    case llvm::Instruction::FRem:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::URem: return 24;
    case llvm::Instruction::Load:
    case llvm::Instruction::Store: {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
      return divergence.shape(pointer).is_varying() ? 12 : 2;
    }
    case llvm::Instruction::AtomicRMW:
    case llvm::Instruction::AtomicCmpXchg: return 100;
    default: return 1;
  }
}

Error unsupported(const llvm::Instruction& instruction, std::string_view why) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream);
  return error(ErrorCode::kUnsupported, "cannot be vectorised: {}: {}", why,
               std::string_view(text).substr(text.find_first_not_of(' ')));
}

Widener::Widener(const llvm::Function& scalar, llvm::Function& result, const Divergence& divergence,
                 const SpmdOptions& options, Values& values, llvm::IRBuilder<>& builder)
    : result_(result),
      divergence_(divergence),
      options_(options),
      field_groups_(scalar, divergence, options.vector_bits),
      values_(values),
      builder_(builder),
      width_(options.width) {}

void Widener::set_entry(llvm::BasicBlock* entry, llvm::Value* root) {
  entry_ = entry;
  root_ = root;
}

llvm::Value* Widener::any(llvm::Value* mask) {
  if (is_full(mask)) return builder_.getTrue();
  llvm::Value* bits = builder_.CreateBitCast(mask, builder_.getIntNTy(width_));
  return builder_.CreateIsNotNull(bits);
}

llvm::Value* Widener::all_lanes_are(const llvm::Value* condition, bool expected) {
  if (values_.shape(condition).is_uniform()) {
    llvm::Value* scalar = values_.scalar(condition);
    return expected ? scalar : builder_.CreateNot(scalar);
  }
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition))
    return all_lanes_compare(*compare, expected);
  using llvm::PatternMatch::m_LogicalAnd;
  using llvm::PatternMatch::m_LogicalOr;
  using llvm::PatternMatch::m_Value;
  llvm::Value* left = nullptr;
  llvm::Value* right = nullptr;
  const bool both = expected ? llvm::PatternMatch::match(const_cast<llvm::Value*>(condition),
                                                         m_LogicalAnd(m_Value(left), m_Value(right)))
                             : llvm::PatternMatch::match(const_cast<llvm::Value*>(condition),
                                                         m_LogicalOr(m_Value(left), m_Value(right)));
  if (!both) return nullptr;
  llvm::Value* first = all_lanes_are(left, expected);
  llvm::Value* second = first == nullptr ? nullptr : all_lanes_are(right, expected);
  return second == nullptr ? nullptr : builder_.CreateLogicalAnd(first, second);
}

// Compares an affine value with a uniform one. If the affine one does not wrap between the first and the last lane, all
// lanes lie between those two.
llvm::Value* Widener::all_lanes_compare(const llvm::ICmpInst& compare, bool expected) {
  llvm::CmpInst::Predicate predicate = expected ? compare.getPredicate() : compare.getInversePredicate();
  const llvm::Value* affine = compare.getOperand(0);
  const llvm::Value* uniform = compare.getOperand(1);
  if (values_.shape(affine).is_uniform()) {
    std::swap(affine, uniform);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  const Shape shape = values_.shape(affine);
  if (!shape.is_affine() || !values_.shape(uniform).is_uniform() || !affine->getType()->isIntegerTy())
    return nullptr;
  llvm::Value* first = values_.scalar(affine);
  llvm::Value* other = values_.scalar(uniform);
  const auto number = [&](std::uint64_t value) { return llvm::ConstantInt::get(first->getType(), value); };
  if (compare.isEquality()) {
    // Equal in no lane: farther from the first than any lane. Only for a step of one.
    if (predicate != llvm::CmpInst::ICMP_NE || shape != Shape::affine(1)) return nullptr;
    return builder_.CreateICmpUGE(builder_.CreateSub(other, first), number(width_));
  }
  const std::uint64_t span = static_cast<std::uint64_t>(shape.stride()) * (width_ - 1);
  llvm::Value* last = builder_.CreateAdd(first, number(span));
  const bool rises = shape.stride() > 0;
  const bool is_signed = llvm::CmpInst::isSigned(predicate);
  llvm::Value* low = rises ? first : last;
  llvm::Value* high = rises ? last : first;
  llvm::Value* in_order = is_signed ? builder_.CreateICmpSLE(low, high) : builder_.CreateICmpULE(low, high);
  const bool is_less = llvm::CmpInst::getNonStrictPredicate(predicate) ==
                       (is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE);
  return builder_.CreateAnd(in_order, builder_.CreateICmp(predicate, is_less ? high : low, other));
}

llvm::Value* Widener::narrow(llvm::Value* mask, llvm::Value* condition, bool expected) {
  if (!expected) condition = builder_.CreateNot(condition);
  if (is_full(mask)) return condition;
  // A select, because an `and` with poison is poison even where the mask is off.
  return builder_.CreateSelect(mask, condition, llvm::Constant::getNullValue(mask->getType()));
}

llvm::Value* Widener::blend(llvm::Value* mask, llvm::Value* a, llvm::Value* b) {
  if (is_full(mask) || a == b || llvm::isa<llvm::PoisonValue>(b)) return a;
  auto* type = llvm::dyn_cast<llvm::StructType>(a->getType());
  if (type == nullptr) return builder_.CreateSelect(mask, a, b);
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    llvm::Value* element = blend(mask, builder_.CreateExtractValue(a, i), builder_.CreateExtractValue(b, i));
    result = builder_.CreateInsertValue(result, element, i);
  }
  return result;
}

Status Widener::emit(llvm::Instruction& instruction) {
  // An address in an alloca is represented by its offset: it can be added to and accessed, but not observed.
  for (const llvm::Use& operand : instruction.operands()) {
    const bool is_access = operand == llvm::getLoadStorePointerOperand(&instruction) &&
                           !(llvm::isa<llvm::StoreInst>(instruction) && operand.getOperandNo() == 0);
    if (!operand->getType()->isPointerTy() || private_base(operand) == nullptr || is_access ||
        private_base(&instruction) != nullptr || instruction.isLifetimeStartOrEnd()) {
      continue;
    }
    return unsupported(instruction, "the address of a local array is used as a value");
  }
  if (const auto* load_inst = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load(*load_inst);
  if (const auto* store_inst = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store(*store_inst);
  if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) return allocate(*alloca);
  if (instruction.getType()->isPointerTy() && private_base(&instruction) != nullptr) {
    private_offset(instruction);
    return {};
  }
  if (auto* call_inst = llvm::dyn_cast<llvm::CallInst>(&instruction)) return call(*call_inst);
  if (divergence_.shape(&instruction).is_affine() || llvm::isa<llvm::FenceInst>(instruction)) {
    return emit_scalar(instruction);
  }
  return emit_vector(instruction);
}

llvm::Instruction* Widener::copy_of(const llvm::Instruction& instruction) {
  llvm::Instruction* copy = instruction.clone();
  copy->setDebugLoc(llvm::DebugLoc());  // it names the scalar function
  return copy;
}

Status Widener::emit_scalar(llvm::Instruction& instruction) {
  llvm::Instruction* copy = copy_of(instruction);
  bool lane_0_may_be_off = false;
  for (llvm::Use& operand : copy->operands()) {
    if (!llvm::isa<llvm::Constant, llvm::Argument, llvm::Instruction>(operand)) continue;
    lane_0_may_be_off |= !values_.shape(operand).is_uniform();
    operand = values_.scalar(operand);
  }
  if (auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(copy);
      disjoint != nullptr && lane_0_may_be_off) {
    // The sum is affine; `or` in an inactive lane 0 is not.
    llvm::Instruction* sum = llvm::BinaryOperator::CreateAdd(copy->getOperand(0), copy->getOperand(1));
    copy->deleteValue();
    copy = sum;
  }
  // The base of an affine value is computed for lane 0, which may be inactive.
  if (lane_0_may_be_off && mask_ != root_) copy->dropPoisonGeneratingFlags();
  builder_.Insert(copy, instruction.getName());
  values_.set_scalar(&instruction, copy);
  return {};
}

Status Widener::emit_vector(llvm::Instruction& instruction) {
  llvm::Value* result = nullptr;
  const auto vector = [&](unsigned operand) { return values_.vector(instruction.getOperand(operand)); };
  if (widen(instruction.getType(), width_) == nullptr) {
    return unsupported(instruction, "a result of this type has no vector form");
  }
  if (const auto* binary_inst = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    result = binary(*binary_inst);
  } else if (llvm::isa<llvm::UnaryOperator>(instruction)) {
    result = builder_.CreateUnOp(llvm::Instruction::FNeg, vector(0));
  } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    if (widen(cast->getSrcTy(), width_) == nullptr) return unsupported(instruction, "it converts a vector");
    result = builder_.CreateCast(cast->getOpcode(), vector(0), widen(cast->getType(), width_));
  } else if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
    result = builder_.CreateCmp(compare->getPredicate(), vector(0), vector(1));
  } else if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    result = select(*choice);
  } else if (llvm::isa<llvm::FreezeInst>(instruction)) {
    result = builder_.CreateFreeze(vector(0));
  } else if (const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    result = builder_.CreateExtractValue(vector(0), extract->getIndices());
  } else if (const auto* insert = llvm::dyn_cast<llvm::InsertValueInst>(&instruction)) {
    result = builder_.CreateInsertValue(vector(0), vector(1), insert->getIndices());
  } else if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    result = pointer(*gep);
  } else if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) {
    return lane_by_lane(instruction);
  } else {
    return unsupported(instruction, "no vector form of this instruction");
  }
  if (auto* made = llvm::dyn_cast<llvm::Instruction>(result); made != nullptr) {
    // Flags are valid even if some lanes are inactive: poison in those is never observed.
    if (made->getOpcode() == instruction.getOpcode()) {
      made->copyIRFlags(&instruction);
      made->copyMetadata(instruction, {llvm::LLVMContext::MD_fpmath});
    }
    made->setName(instruction.getName());
  }
  values_.set_vector(&instruction, result);
  return {};
}

llvm::Value* Widener::binary(const llvm::BinaryOperator& instruction) {
  llvm::Value* left = values_.vector(instruction.getOperand(0));
  llvm::Value* right = values_.vector(instruction.getOperand(1));
  if (!instruction.isIntDivRem()) return builder_.CreateBinOp(instruction.getOpcode(), left, right);
  if (!is_safe_divisor(instruction.getOperand(1))) {
    // Inactive lanes must not divide by zero: that would fault for all of them.
    right = blend(mask_, right, llvm::ConstantInt::get(right->getType(), 1));
  }
  return divide(instruction, left, right);
}

llvm::Value* Widener::select(const llvm::SelectInst& instruction) {
  const llvm::Value* condition = instruction.getCondition();
  llvm::Value* if_true = values_.vector(instruction.getTrueValue());
  llvm::Value* if_false = values_.vector(instruction.getFalseValue());
  if (values_.shape(condition).is_uniform()) {
    return builder_.CreateSelect(values_.scalar(condition), if_true, if_false);
  }
  return blend(values_.vector(condition), if_true, if_false);
}

llvm::Value* Widener::pointer(const llvm::GetElementPtrInst& gep) {
  // Uniform operands stay scalars: gathers need one base and a vector of indices.
  const auto operand = [this](const llvm::Value* value) {
    return values_.shape(value).is_uniform() ? values_.scalar(value) : values_.vector(value);
  };
  llvm::SmallVector<llvm::Value*, 4> indices;
  for (const llvm::Value* index : gep.indices()) indices.push_back(operand(index));
  return builder_.CreateGEP(gep.getSourceElementType(), operand(gep.getPointerOperand()), indices);
}

}  // namespace dhpvm::codegen::spmd
