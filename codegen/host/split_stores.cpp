// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/split_stores.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <numeric>

namespace dhpvm::codegen {
namespace {

// A store of a vector to consecutive addresses: plain, or masked.
struct WideStore {
  llvm::Instruction* instruction;
  llvm::Value* value;
  llvm::Value* pointer;
  llvm::Align align;
  llvm::Value* mask;  // null: all lanes
};

std::optional<WideStore> wide_store(llvm::Instruction& instruction) {
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (!store->isSimple()) return std::nullopt;
    return WideStore{store, store->getValueOperand(), store->getPointerOperand(), store->getAlign(), nullptr};
  }
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_store) return std::nullopt;
  const auto* align = llvm::cast<llvm::ConstantInt>(call->getArgOperand(2));
  return WideStore{call, call->getArgOperand(0), call->getArgOperand(1), align->getAlignValue(),
                   call->getArgOperand(3)};
}

// The number of elements per register, if the vector consists of several whole registers; 0 otherwise.
unsigned lanes_of_register(const llvm::Value* value, std::uint64_t register_bits) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (type == nullptr || type->getElementType()->isPointerTy()) return 0;
  const unsigned bits = type->getScalarSizeInBits();
  if (bits < 8 || !llvm::isPowerOf2_32(bits)) return 0;
  const auto lanes = static_cast<unsigned>(register_bits / bits);
  return lanes > 0 && type->getNumElements() > lanes && type->getNumElements() % lanes == 0 ? lanes : 0;
}

void split(const WideStore& store, unsigned lanes) {
  llvm::IRBuilder<> builder(store.instruction);
  const auto* type = llvm::cast<llvm::FixedVectorType>(store.value->getType());
  const std::uint64_t bytes = std::uint64_t{lanes} * type->getScalarSizeInBits() / 8;
  const auto part_of = [&](llvm::Value* whole, unsigned first) {
    llvm::SmallVector<int, 64> elements(lanes);
    std::iota(elements.begin(), elements.end(), static_cast<int>(first));
    return builder.CreateShuffleVector(whole, elements);
  };
  for (unsigned first = 0; first < type->getNumElements(); first += lanes) {
    const std::uint64_t offset = first / lanes * bytes;
    llvm::Value* const address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), store.pointer, offset);
    const llvm::Align align = llvm::commonAlignment(store.align, offset);
    llvm::Value* const value = part_of(store.value, first);
    llvm::Instruction* const part =
        store.mask == nullptr
            ? llvm::cast<llvm::Instruction>(builder.CreateAlignedStore(value, address, align))
            : builder.CreateMaskedStore(value, address, align, part_of(store.mask, first));
    part->copyMetadata(*store.instruction);
  }
  store.instruction->eraseFromParent();
}

}  // namespace

void split_wide_stores(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const std::uint64_t bits = machine.getTargetTransformInfo(function)
                                   .getRegisterBitWidth(llvm::TargetTransformInfo::RGK_FixedWidthVector)
                                   .getFixedValue();
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        const std::optional<WideStore> store = wide_store(instruction);
        if (!store) continue;
        if (const unsigned lanes = lanes_of_register(store->value, bits); lanes != 0) split(*store, lanes);
      }
    }
  }
}

}  // namespace dhpvm::codegen
