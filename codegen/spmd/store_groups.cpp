// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/store_groups.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>

#include <algorithm>
#include <optional>

#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

// An access to one element of each lane's structure.
struct Field {
  const llvm::Value* base;
  std::int64_t offset;  // from it, in bytes
  std::int64_t stride;  // from lane to lane
  unsigned bytes;
};

std::optional<Field> field_of(const llvm::Instruction& access, llvm::Type* type,
                              const Divergence& divergence) {
  const llvm::Value* address = llvm::getLoadStorePointerOperand(&access);
  const Shape shape = divergence.shape(address);
  if (!shape.is_affine() || private_base(address) != nullptr) return std::nullopt;
  const llvm::DataLayout& layout = access.getDataLayout();
  llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
  const llvm::Value* base =
      address->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  return Field{base, offset.getSExtValue(), shape.stride(), element_bytes_of(type, layout)};
}

}  // namespace

unsigned element_bytes_of(llvm::Type* type, const llvm::DataLayout& layout) {
  if (!llvm::VectorType::isValidElementType(type)) return 0;
  const std::uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  const bool packed = bits % 8 == 0 && bits == layout.getTypeAllocSizeInBits(type).getFixedValue();
  return packed ? static_cast<unsigned>(bits / 8) : 0;
}

// The stores of a group whose last one has not been met.
struct StoreGroups::Open {
  Field first;
  std::vector<std::pair<std::int64_t, const llvm::StoreInst*>> stores;  // by offset

  bool empty() const { return stores.empty(); }
  // Whether no lane's element at `field` is one that the group stores to. Lanes do not access each other's.
  bool is_apart(const Field& field) const {
    return field.base == first.base && field.stride == first.stride &&
           std::ranges::none_of(stores, [&](const auto& store) {
             return field.offset < store.first + first.bytes && store.first < field.offset + field.bytes;
           });
  }
  // Whether a store to `field`, which is_apart, can be done together with the others.
  bool takes(const Field& field) const {
    if (field.bytes != first.bytes || (field.offset - first.offset) % first.bytes != 0) return false;
    const auto [low, high] = std::minmax(stores.front().first, stores.back().first);
    return std::max(high, field.offset) - std::min(low, field.offset) < first.stride;
  }
};

StoreGroups::StoreGroups(const llvm::Function& function, const Divergence& divergence) {
  for (const llvm::BasicBlock& block : function) look_at(block, divergence);
}

const StoreGroup* StoreGroups::find(const llvm::StoreInst& store) const {
  const auto found = members_.find(&store);
  return found == members_.end() ? nullptr : &groups_[found->second];
}

// What comes between the first store of a group and its last must not see, or be seen by, any of them.
void StoreGroups::look_at(const llvm::BasicBlock& block, const Divergence& divergence) {
  Open open;
  for (const llvm::Instruction& instruction : block) {
    if (!instruction.mayReadOrWriteMemory() && llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction))
      continue;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        load != nullptr && load->isSimple()) {
      if (open.empty() || load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) continue;
      const auto field = field_of(*load, load->getType(), divergence);
      if (field && field->bytes != 0 && open.is_apart(*field)) continue;
    }
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    std::optional<Field> field;
    if (store != nullptr && store->isSimple())
      field = field_of(*store, store->getValueOperand()->getType(), divergence);
    const bool leaves_gaps = field && field->bytes != 0 && field->stride % field->bytes == 0 &&
                             field->stride / field->bytes >= 2 &&
                             field->stride / field->bytes <= kLargestStep;
    if (!leaves_gaps || open.empty() || !open.is_apart(*field) || !open.takes(*field)) close(open);
    if (!leaves_gaps) continue;
    if (open.empty()) open.first = *field;
    open.stores.emplace_back(field->offset, store);
    std::ranges::sort(open.stores, {}, [](const auto& pair) { return pair.first; });
  }
  close(open);
}

void StoreGroups::close(Open& open) {
  if (open.empty()) return;
  StoreGroup group;
  group.bytes = open.first.bytes;
  group.step = static_cast<unsigned>(open.first.stride / group.bytes);
  group.fields.resize(group.step);
  for (const auto& [offset, store] : open.stores) {
    group.fields[static_cast<std::size_t>((offset - open.stores.front().first) / group.bytes)] = store;
    members_[store] = groups_.size();
    if (group.last == nullptr || group.last->comesBefore(store)) group.last = store;
  }
  groups_.push_back(std::move(group));
  open.stores.clear();
}

}  // namespace dhpvm::codegen::spmd
