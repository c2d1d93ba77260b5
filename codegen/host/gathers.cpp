// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/gathers.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>

namespace dhpvm::codegen {
namespace {

using llvm::Value;

constexpr unsigned kWordBytes = 4;  // the narrowest elements that processors gather

// A gather, or a scatter.
struct ScatteredAccess {
  llvm::IntrinsicInst* instruction;
  llvm::FixedVectorType* type;  // of the elements
  Value* addresses;
  llvm::Align align;
  Value* mask;
  Value* stored;   // null: it loads
  Value* instead;  // the result of a load in inactive lanes
};

std::optional<ScatteredAccess> scattered_access(llvm::Instruction& instruction) {
  auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return std::nullopt;
  const bool is_load = call->getIntrinsicID() == llvm::Intrinsic::masked_gather;
  if (!is_load && call->getIntrinsicID() != llvm::Intrinsic::masked_scatter) return std::nullopt;
  // gather(addresses, align, mask, instead), scatter(stored, addresses, align, mask)
  const unsigned first = is_load ? 0 : 1;
  Value* const stored = is_load ? nullptr : call->getArgOperand(0);
  llvm::Type* const type = is_load ? call->getType() : stored->getType();
  const auto* align = llvm::cast<llvm::ConstantInt>(call->getArgOperand(first + 1));
  return ScatteredAccess{call,
                         llvm::cast<llvm::FixedVectorType>(type),
                         call->getArgOperand(first),
                         align->getAlignValue(),
                         call->getArgOperand(first + 2),
                         stored,
                         is_load ? call->getArgOperand(3) : nullptr};
}

bool has_gather(llvm::VectorType* type, llvm::Align align, const llvm::TargetTransformInfo& costs) {
  return costs.isLegalMaskedGather(type, align) && !costs.forceScalarizeMaskedGather(type, align);
}

bool has_instruction(const ScatteredAccess& access, const llvm::TargetTransformInfo& costs) {
  if (access.stored == nullptr) return has_gather(access.type, access.align, costs);
  return costs.isLegalMaskedScatter(access.type, access.align) &&
         !costs.forceScalarizeMaskedScatter(access.type, access.align);
}

// The type of the words that contain the elements, if these are narrower and words can be gathered; null otherwise.
llvm::FixedVectorType* words_of(const ScatteredAccess& access, const llvm::TargetTransformInfo& costs) {
  const unsigned bytes = access.type->getScalarSizeInBits() / 8;
  if (access.stored != nullptr || !access.type->getElementType()->isIntegerTy()) return nullptr;
  if (bytes == 0 || bytes >= kWordBytes || access.align.value() < bytes) return nullptr;
  auto* const words = llvm::FixedVectorType::get(llvm::Type::getInt32Ty(access.type->getContext()),
                                                 access.type->getNumElements());
  return has_gather(words, llvm::Align(kWordBytes), costs) ? words : nullptr;
}

// Gathers the aligned words, which never cross a page boundary, and ignores their other bytes.
void gather_words(const ScatteredAccess& access, llvm::FixedVectorType* words) {
  llvm::IRBuilder<> b(access.instruction);
  llvm::Type* const numbers = words->getWithNewBitWidth(64);
  Value* const behind = b.CreateAnd(b.CreatePtrToInt(access.addresses, numbers),
                                    llvm::ConstantInt::get(numbers, kWordBytes - 1));
  Value* const places = b.CreateGEP(b.getInt8Ty(), access.addresses, b.CreateNeg(behind));
  llvm::CallInst* const word = b.CreateMaskedGather(words, places, llvm::Align(kWordBytes), access.mask,
                                                    llvm::PoisonValue::get(words));
  word->copyMetadata(*access.instruction);
  Value* const bits = b.CreateTrunc(b.CreateShl(behind, 3), words);
  Value* const element = b.CreateTrunc(b.CreateLShr(word, bits), access.type);
  access.instruction->replaceAllUsesWith(llvm::isa<llvm::UndefValue>(access.instead)
                                             ? element
                                             : b.CreateSelect(access.mask, element, access.instead));
  access.instruction->eraseFromParent();
}

class Scalariser {
 public:
  explicit Scalariser(const ScatteredAccess& access) : access_(access), b_(access.instruction) {}

  void run() {
    const unsigned lanes = access_.type->getNumElements();
    const bool has_mask = !llvm::isa<llvm::Constant>(access_.mask);
    if (has_mask) bits_ = b_.CreateBitCast(access_.mask, b_.getIntNTy(lanes));
    Value* result = llvm::PoisonValue::get(access_.type);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (!has_mask && llvm::cast<llvm::Constant>(access_.mask)->getAggregateElement(lane)->isNullValue())
        continue;
      Value* const address = has_mask ? choose(lane) : lane_of(access_.addresses, lane);
      llvm::Instruction* part = nullptr;
      if (access_.stored != nullptr) {
        part = b_.CreateAlignedStore(lane_of(access_.stored, lane), address, access_.align);
      } else {
        part = b_.CreateAlignedLoad(access_.type->getElementType(), address, access_.align);
        result = b_.CreateInsertElement(result, part, lane);
      }
      part->copyMetadata(*access_.instruction);
    }
    if (access_.stored == nullptr) {
      if (!llvm::isa<llvm::UndefValue>(access_.instead))
        result = b_.CreateSelect(access_.mask, result, access_.instead);
      access_.instruction->replaceAllUsesWith(result);
    }
    access_.instruction->eraseFromParent();
  }

 private:
  // The lane's address, or a dummy's if the lane is inactive.
  Value* choose(unsigned lane) {
    llvm::Type* const type = bits_->getType();
    Value* const bit = b_.CreateAnd(
        bits_, llvm::ConstantInt::get(type, llvm::APInt::getOneBitSet(type->getIntegerBitWidth(), lane)));
    Value* const address =
        b_.CreateSelect(b_.CreateIsNotNull(bit), lane_of(access_.addresses, lane), nowhere());
    // Prevents LLVM from turning the select into a branch.
    if (auto* const select = llvm::dyn_cast<llvm::SelectInst>(address))
      select->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(b_.getContext(), {}));
    return address;
  }

  Value* nowhere() {
    llvm::BasicBlock& entry = access_.instruction->getFunction()->getEntryBlock();
    for (llvm::Instruction& instruction : entry) {
      auto* const place = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (place != nullptr && place->getMetadata(kNowhere) != nullptr) return place;
    }
    llvm::IRBuilder<> b(&entry, entry.begin());
    llvm::AllocaInst* const place = b.CreateAlloca(b.getInt64Ty(), nullptr, kNowhere);
    place->setMetadata(kNowhere, llvm::MDNode::get(b.getContext(), {}));
    return place;
  }

  // Addresses and their index conversions are computed lane by lane, as part of scalar accesses; other values are
  // extracted from their vector.
  Value* lane_of(Value* vector, unsigned lane) {
    if (!vector->getType()->isVectorTy()) return vector;
    if (Value* const same = llvm::getSplatValue(vector); same != nullptr) return same;
    if (auto* const address = llvm::dyn_cast<llvm::GetElementPtrInst>(vector)) {
      llvm::SmallVector<Value*, 4> indices;
      for (Value* index : address->indices()) indices.push_back(lane_of(index, lane));
      return b_.CreateGEP(address->getSourceElementType(), lane_of(address->getPointerOperand(), lane),
                          indices, "", address->getNoWrapFlags());
    }
    if (auto* const cast = llvm::dyn_cast<llvm::CastInst>(vector);
        cast != nullptr && llvm::isa<llvm::ZExtInst, llvm::SExtInst>(cast) &&
        cast->getSrcTy()->getScalarSizeInBits() >= 8) {
      return b_.CreateCast(cast->getOpcode(), lane_of(cast->getOperand(0), lane),
                           cast->getDestTy()->getScalarType());
    }
    return b_.CreateExtractElement(vector, lane);
  }

  static constexpr const char* kNowhere = "nowhere";

  const ScatteredAccess& access_;
  llvm::IRBuilder<> b_;
  Value* bits_ = nullptr;  // the mask
};

}  // namespace

void fit_gathers(llvm::Module& module, const llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const llvm::TargetTransformInfo costs = machine.getTargetTransformInfo(function);
    llvm::SmallVector<llvm::Instruction*, 16> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const std::optional<ScatteredAccess> access = scattered_access(instruction);
      if (access && !has_instruction(*access, costs)) found.push_back(&instruction);
    }
    // One of them may use another's result.
    for (llvm::Instruction* instruction : found) {
      const ScatteredAccess access = *scattered_access(*instruction);
      if (llvm::FixedVectorType* const words = words_of(access, costs); words != nullptr) {
        gather_words(access, words);
      } else {
        Scalariser(access).run();
      }
    }
  }
}

}  // namespace dhpvm::codegen
