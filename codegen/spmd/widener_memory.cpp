// SPDX-License-Identifier: Apache-2.0
// Loads and stores: contiguous accesses become vectors, uniform ones scalars, and others gathers and scatters. Local
// arrays are private to a lane; their elements are interleaved, so that a uniform index is a contiguous vector.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>

#include "codegen/spmd/transfer.h"
#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

// Copies the metadata that is valid for an access by all lanes.
void copy_metadata(llvm::Instruction& to, const llvm::Instruction& from) {
  to.copyMetadata(
      from, {llvm::LLVMContext::MD_tbaa, llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias,
             llvm::LLVMContext::MD_invariant_load, llvm::LLVMContext::MD_nontemporal});
}

}  // namespace

llvm::Value* Widener::reverse(llvm::Value* vector) {
  if (is_full(vector)) return vector;
  llvm::SmallVector<int, 64> order;
  for (unsigned lane = width_; lane-- > 0;) order.push_back(static_cast<int>(lane));
  return builder_.CreateShuffleVector(vector, order);
}

Status Widener::load(const llvm::LoadInst& load) {
  const llvm::Value* address = load.getPointerOperand();
  if (const llvm::AllocaInst* alloca = private_base(address)) return load_private(load, *alloca);
  const Shape shape = values_.shape(address);
  if (shape.is_uniform()) return emit_scalar(const_cast<llvm::LoadInst&>(load));
  if (!load.isSimple()) return lane_by_lane(const_cast<llvm::LoadInst&>(load));

  if (const FieldGroup* group = field_groups_.find(load); group != nullptr && moves_together(*group)) {
    if (group->place == &load) load_fields(*group);
    return {};
  }
  const unsigned bytes = element_bytes_of(load.getType(), load.getDataLayout());
  if (bytes == 0) return unsupported(load, "a load of this type has no vector form");
  llvm::Type* type = widen(load.getType(), width_);
  const llvm::Align align = load.getAlign();
  llvm::Value* result = nullptr;
  llvm::Instruction* access = nullptr;
  const bool forward = shape == Shape::affine(bytes);
  const bool backward = shape == Shape::affine(-static_cast<std::int64_t>(bytes));
  if (forward || backward) {
    llvm::Value* first = values_.scalar(address);
    llvm::Value* mask = mask_;
    if (backward) {
      const std::int64_t distance = -static_cast<std::int64_t>(bytes) * (width_ - 1);
      first = builder_.CreateGEP(builder_.getInt8Ty(), first, builder_.getInt64(distance));
      mask = reverse(mask);
    }
    access = is_full(mask)
                 ? static_cast<llvm::Instruction*>(builder_.CreateAlignedLoad(type, first, align))
                 : builder_.CreateMaskedLoad(type, first, align, mask, llvm::PoisonValue::get(type));
    result = backward ? reverse(access) : access;
  } else {
    result = access = builder_.CreateMaskedGather(type, values_.vector(address), align, mask_);
  }
  copy_metadata(*access, load);
  values_.set_vector(&load, result);
  return {};
}

Status Widener::store(const llvm::StoreInst& store) {
  const llvm::Value* address = store.getPointerOperand();
  if (const llvm::AllocaInst* alloca = private_base(address)) return store_private(store, *alloca);
  const Shape shape = values_.shape(address);
  if (shape.is_uniform()) return store_to_one_place(store);
  if (!store.isSimple()) return lane_by_lane(const_cast<llvm::StoreInst&>(store));
  if (const FieldGroup* group = field_groups_.find(store); group != nullptr) {
    if (group->place == &store) store_fields(*group);
    return {};
  }

  const unsigned bytes = element_bytes_of(store.getValueOperand()->getType(), store.getDataLayout());
  if (bytes == 0) return unsupported(store, "a store of this type has no vector form");
  llvm::Value* value = values_.vector(store.getValueOperand());
  const llvm::Align align = store.getAlign();
  llvm::Instruction* access = nullptr;
  const bool forward = shape == Shape::affine(bytes);
  const bool backward = shape == Shape::affine(-static_cast<std::int64_t>(bytes));
  if (forward || backward) {
    llvm::Value* first = values_.scalar(address);
    llvm::Value* mask = mask_;
    if (backward) {
      const std::int64_t distance = -static_cast<std::int64_t>(bytes) * (width_ - 1);
      first = builder_.CreateGEP(builder_.getInt8Ty(), first, builder_.getInt64(distance));
      mask = reverse(mask);
      value = reverse(value);
    }
    access = is_full(mask) ? static_cast<llvm::Instruction*>(builder_.CreateAlignedStore(value, first, align))
                           : builder_.CreateMaskedStore(value, first, align, mask);
  } else {
    access = builder_.CreateMaskedScatter(value, values_.vector(address), align, mask_);
  }
  copy_metadata(*access, store);
  return {};
}

// All lanes store to the same address in order: the last active one's value remains.
Status Widener::store_to_one_place(const llvm::StoreInst& store) {
  const llvm::Value* value = store.getValueOperand();
  llvm::Value* last = builder_.getInt32(width_ - 1);
  if (!is_full(mask_)) {
    llvm::Value* bits = builder_.CreateBitCast(mask_, builder_.getIntNTy(width_));
    llvm::Value* off = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, builder_.getTrue());
    last = builder_.CreateSub(last, builder_.CreateZExtOrTrunc(off, builder_.getInt32Ty()));
  }
  if (widen(value->getType(), width_) == nullptr) return unsupported(store, "a store of this type");
  llvm::Instruction* copy = copy_of(store);
  copy->setOperand(0, values_.lane(value, last, builder_));
  copy->setOperand(1, values_.scalar(store.getPointerOperand()));
  builder_.Insert(copy);
  return {};
}

Status Widener::allocate(const llvm::AllocaInst& alloca) {
  if (!alloca.isStaticAlloca()) return unsupported(alloca, "a local array of variable size");
  const llvm::DataLayout& layout = alloca.getDataLayout();
  const std::uint64_t bytes = alloca.getAllocationSize(layout)->getFixedValue();
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  auto* type = llvm::ArrayType::get(at_entry.getInt8Ty(), bytes * width_);
  llvm::AllocaInst* made = at_entry.CreateAlloca(type, nullptr, alloca.getName());
  made->setAlignment(llvm::Align(64));
  locals_[&alloca].lanes = made;
  values_.set_scalar(&alloca, builder_.getInt64(0));
  return {};
}

// Interleaving requires elements of one size, and no access that crosses an element's boundary.
Status Widener::check_private(const llvm::Instruction& access, const llvm::AllocaInst& alloca,
                              llvm::Align align, unsigned element_bytes) {
  unsigned& known = locals_[&alloca].element_bytes;
  if (known == 0) known = element_bytes;
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
  const bool aligned =
      element_bytes != 0 &&
      (align.value() >= element_bytes || is_private_multiple(pointer, element_bytes, access.getDataLayout()));
  if (!aligned || element_bytes != known) {
    return unsupported(access, "a local array is accessed with different element sizes");
  }
  return {};
}

// The address as a byte offset in its local array, as in the scalar function.
void Widener::private_offset(const llvm::Instruction& address) {
  const bool as_vector = divergence_.shape(&address).is_varying();
  const auto operand = [&](const llvm::Value* value) {
    return as_vector ? values_.vector(value) : values_.scalar(value);
  };
  llvm::Value* offset = nullptr;
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&address)) {
    const llvm::Value* condition = choice->getCondition();
    offset = builder_.CreateSelect(
        values_.shape(condition).is_uniform() ? values_.scalar(condition) : values_.vector(condition),
        operand(choice->getTrueValue()), operand(choice->getFalseValue()));
  } else {
    const auto& gep = llvm::cast<llvm::GetElementPtrInst>(address);
    const llvm::DataLayout& layout = address.getDataLayout();
    offset = operand(gep.getPointerOperand());
    const auto number = [&](std::uint64_t value) { return llvm::ConstantInt::get(offset->getType(), value); };
    for (auto type = llvm::gep_type_begin(gep); type != llvm::gep_type_end(gep); ++type) {
      if (llvm::StructType* structure = type.getStructTypeOrNull()) {
        const auto field = llvm::cast<llvm::ConstantInt>(type.getOperand())->getZExtValue();
        const auto begin = layout.getStructLayout(structure)->getElementOffset(static_cast<unsigned>(field));
        offset = builder_.CreateAdd(offset, number(begin.getFixedValue()));
        continue;
      }
      llvm::Value* index = builder_.CreateSExtOrTrunc(operand(type.getOperand()), offset->getType());
      const std::uint64_t size = type.getSequentialElementStride(layout).getFixedValue();
      offset = builder_.CreateAdd(offset, builder_.CreateMul(index, number(size)));
    }
  }
  if (as_vector) {
    values_.set_vector(&address, offset);
  } else {
    values_.set_scalar(&address, offset);
  }
}

// Element e of lane l lies at (e * width + l) * element_bytes.
llvm::Value* Widener::private_address(const llvm::Value* pointer, const llvm::AllocaInst& alloca,
                                      bool& contiguous, unsigned element_bytes) {
  llvm::Value* base = locals_.lookup(&alloca).lanes;
  contiguous = values_.shape(pointer).is_uniform();
  if (contiguous) {
    llvm::Value* offset = builder_.CreateMul(values_.scalar(pointer), builder_.getInt64(width_));
    return builder_.CreateGEP(builder_.getInt8Ty(), base, offset);
  }
  llvm::Value* offsets = values_.vector(pointer);
  llvm::SmallVector<llvm::Constant*, 64> lanes;
  for (unsigned lane = 0; lane < width_; ++lane) lanes.push_back(builder_.getInt64(lane * element_bytes));
  offsets = builder_.CreateMul(offsets, llvm::ConstantInt::get(offsets->getType(), width_));
  offsets = builder_.CreateAdd(offsets, llvm::ConstantVector::get(lanes));
  return builder_.CreateGEP(builder_.getInt8Ty(), base, offsets);
}

Status Widener::load_private(const llvm::LoadInst& load, const llvm::AllocaInst& alloca) {
  const unsigned bytes = element_bytes_of(load.getType(), load.getDataLayout());
  DHPVM_TRY(check_private(load, alloca, load.getAlign(), bytes));
  bool contiguous = false;
  llvm::Value* address = private_address(load.getPointerOperand(), alloca, contiguous, bytes);
  llvm::Type* type = widen(load.getType(), width_);
  // A contiguous vector is readable as a whole, whichever lanes are active.
  values_.set_vector(&load, contiguous
                                ? static_cast<llvm::Instruction*>(
                                      builder_.CreateAlignedLoad(type, address, llvm::Align(bytes)))
                                : builder_.CreateMaskedGather(type, address, llvm::Align(bytes), mask_));
  return {};
}

Status Widener::store_private(const llvm::StoreInst& store, const llvm::AllocaInst& alloca) {
  const llvm::Value* value = store.getValueOperand();
  const unsigned bytes = element_bytes_of(value->getType(), store.getDataLayout());
  DHPVM_TRY(check_private(store, alloca, store.getAlign(), bytes));
  bool contiguous = false;
  llvm::Value* address = private_address(store.getPointerOperand(), alloca, contiguous, bytes);
  llvm::Value* vector = values_.vector(value);
  if (!contiguous) {
    builder_.CreateMaskedScatter(vector, address, llvm::Align(bytes), mask_);
  } else if (mask_ == root_) {
    // Lanes that were never active do not use their arrays.
    builder_.CreateAlignedStore(vector, address, llvm::Align(bytes));
  } else {
    // Other lanes keep their elements. Without AVX-512, processors execute masked stores of bytes one by one, and on
    // all of them a load cannot be forwarded from a masked store. A lane is active, so the element is in the array
    // (needs_lanes).
    llvm::Value* const kept = builder_.CreateAlignedLoad(vector->getType(), address, llvm::Align(bytes));
    builder_.CreateAlignedStore(builder_.CreateSelect(mask_, vector, kept), address, llvm::Align(bytes));
  }
  return {};
}

}  // namespace dhpvm::codegen::spmd
