// SPDX-License-Identifier: Apache-2.0
// Loads and stores: what is next to each other in memory moves as a vector, what is in one place once, the
// rest lane by lane in hardware (gather and scatter). Local arrays are private to a lane; their elements lie
// interleaved, so that one index for all lanes is a contiguous vector.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>

#include <algorithm>

#include "codegen/spmd/transfer.h"
#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

// What stays true of an access that stands for those of all lanes.
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
  } else if (const std::int64_t step = shape.stride() / bytes;
             step >= 2 && step <= kLargestStep && shape.stride() % bytes == 0 && is_full(mask_)) {
    result = load_steps(load, type, bytes, static_cast<unsigned>(step));
  } else {
    result = access = builder_.CreateMaskedGather(type, values_.vector(address), align, mask_);
  }
  if (access != nullptr) copy_metadata(*access, load);
  values_.set_vector(&load, result);
  return {};
}

// Each lane reads `step` elements behind the one before: all elements from the first lane's to the last
// lane's are loaded, and the lanes pick theirs. A gather takes several times as long.
llvm::Value* Widener::load_steps(const llvm::LoadInst& load, llvm::Type* type, unsigned bytes,
                                 unsigned step) {
  llvm::Value* first = values_.scalar(load.getPointerOperand());
  const unsigned last = (width_ - 1) * step;
  llvm::SmallVector<llvm::Value*, kLargestStep> parts;
  unsigned begin = 0;
  for (unsigned part = 0; part < step; ++part) {
    // The last part ends with the last lane's element: what follows need not be memory.
    begin = part + 1 < step ? part * width_ : last + 1 - width_;
    llvm::Value* from = builder_.CreateGEP(builder_.getInt8Ty(), first, builder_.getInt64(begin * bytes));
    llvm::LoadInst* made =
        builder_.CreateAlignedLoad(type, from, llvm::Align(llvm::MinAlign(load.getAlign().value(), bytes)));
    copy_metadata(*made, load);
    parts.push_back(made);
  }
  llvm::SmallVector<int, 64> picks;
  for (unsigned lane = 0; lane < width_; ++lane) {
    const unsigned at = lane * step;
    const bool in_last = at >= (step - 1) * width_;
    picks.push_back(static_cast<int>(in_last ? (step - 1) * width_ + at - begin : at));
  }
  return builder_.CreateShuffleVector(llvm::concatenateVectors(builder_, parts), picks);
}

Status Widener::store(const llvm::StoreInst& store) {
  const llvm::Value* address = store.getPointerOperand();
  if (const llvm::AllocaInst* alloca = private_base(address)) return store_private(store, *alloca);
  const Shape shape = values_.shape(address);
  if (shape.is_uniform()) return store_to_one_place(store);
  if (!store.isSimple()) return lane_by_lane(const_cast<llvm::StoreInst&>(store));
  if (const StoreGroup* group = store_groups_.find(store); group != nullptr) {
    if (group->last == &store) store_fields(*group);
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

// Element `lane * step + n` from the first one on is what field n is in that lane; those of gaps keep what they are.
void Widener::store_fields(const StoreGroup& group) {
  const llvm::StoreInst& first_field =
      **std::ranges::find_if(group.fields, [](auto* f) { return f != nullptr; });
  llvm::Value* const first = values_.scalar(first_field.getPointerOperand());
  // Fields may be numbers of different kinds.
  llvm::Type* const type = llvm::FixedVectorType::get(builder_.getIntNTy(group.bytes * 8), width_);
  const auto position = [&](unsigned part, unsigned lane) { return part * width_ + lane; };
  for (unsigned part = 0; part < group.step; ++part) {
    llvm::Value* elements = llvm::PoisonValue::get(type);
    llvm::SmallVector<llvm::Constant*, 64> fields(width_, builder_.getFalse());
    llvm::SmallVector<int, 64> lanes;
    for (unsigned lane = 0; lane < width_; ++lane)
      lanes.push_back(static_cast<int>(position(part, lane) / group.step));
    const llvm::StoreInst* stored = nullptr;
    for (unsigned n = 0; n < group.step; ++n) {
      if (group.fields[n] == nullptr) continue;
      stored = group.fields[n];
      llvm::Value* const field = builder_.CreateBitCast(values_.vector(stored->getValueOperand()), type);
      llvm::SmallVector<int, 64> picks;
      for (unsigned lane = 0; lane < width_; ++lane) {
        const bool is_its = position(part, lane) % group.step == n;
        if (is_its) fields[lane] = builder_.getTrue();
        picks.push_back(is_its ? static_cast<int>(width_) + lanes[lane] : static_cast<int>(lane));
      }
      elements = builder_.CreateShuffleVector(elements, field, picks);
    }
    llvm::Value* mask = llvm::ConstantVector::get(fields);
    if (!is_full(mask_)) mask = builder_.CreateAnd(mask, builder_.CreateShuffleVector(mask_, lanes));
    llvm::Value* const to = builder_.CreateGEP(builder_.getInt8Ty(), first,
                                               builder_.getInt64(std::uint64_t{part} * width_ * group.bytes));
    const llvm::Align align(llvm::MinAlign(first_field.getAlign().value(), group.bytes));
    llvm::Instruction* const made =
        is_full(mask) ? static_cast<llvm::Instruction*>(builder_.CreateAlignedStore(elements, to, align))
                      : builder_.CreateMaskedStore(elements, to, align, mask);
    // What is said of the memory holds for all fields of a structure, unless it says which kind of number is there.
    made->copyMetadata(*stored, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
  }
}

// All lanes store to the same place, one after the other: what the last one stores stays.
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

// Interleaving needs elements of one size, and no access that lies across two of them.
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

// The address as an offset in bytes from the beginning of its local array, as the scalar function has it.
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
  // All of a contiguous vector can be read, whichever lanes are active.
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
    // Lanes that never were active have no use for their arrays.
    builder_.CreateAlignedStore(vector, address, llvm::Align(bytes));
  } else {
    builder_.CreateMaskedStore(vector, address, llvm::Align(bytes), mask_);
  }
  return {};
}

}  // namespace dhpvm::codegen::spmd
