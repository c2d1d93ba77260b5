// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/field_groups.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <optional>

#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

// Up to this distance between two lanes, in units, the gaps are moved as well.
constexpr std::int64_t kLargestStep = 8;
constexpr std::int64_t kLargestUnit = 8;

// The part of each lane's struct that an access touches.
struct Field {
  // The struct's address: `index` times `scale` bytes after `base`; the index may be null.
  const llvm::Value* base;
  const llvm::Value* index;
  std::uint64_t scale;
  std::int64_t offset;  // from there, in bytes
  std::int64_t stride;  // from lane to lane
  unsigned bytes;

  bool has_gaps() const { return stride > bytes && stride <= kLargestStep * kLargestUnit; }
  bool is_in_structure_of(const Field& other) const {
    return base == other.base && index == other.index && scale == other.scale && stride == other.stride;
  }
  // Lanes do not access each other's structs.
  bool overlaps(const Field& other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

// Decomposes the address of `a[3 * i + 2]` and `p[i].z`.
void find_structure(const llvm::Value* address, const llvm::DataLayout& layout, Field& field) {
  namespace pattern = llvm::PatternMatch;
  llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
  const auto strip = [&](const llvm::Value* pointer) {
    return pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  };
  field.base = strip(address);
  field.index = nullptr;
  field.scale = 0;
  const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(field.base);
  if (gep != nullptr && gep->getNumIndices() == 1 && gep->getOperand(1)->getType()->isIntegerTy(64)) {
    const llvm::TypeSize size = layout.getTypeAllocSize(gep->getSourceElementType());
    const llvm::Value* index = gep->getOperand(1);
    const llvm::APInt* constant = nullptr;
    const llvm::Value* rest = nullptr;
    if (!size.isScalable()) {
      field.scale = size.getFixedValue();
      if (pattern::match(index, pattern::m_AddLike(pattern::m_Value(rest), pattern::m_APInt(constant)))) {
        offset += constant->sextOrTrunc(offset.getBitWidth()) * field.scale;
        index = rest;
      }
      field.index = index;
      field.base = strip(gep->getPointerOperand());
    }
  }
  field.offset = offset.getSExtValue();
}

// Nothing if the access is not the same in all lanes.
std::optional<Field> field_of(const llvm::Instruction& access, const Divergence& divergence) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(&access);
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access);
  if ((load == nullptr || !load->isSimple()) && (store == nullptr || !store->isSimple())) return std::nullopt;
  const llvm::Value* address = llvm::getLoadStorePointerOperand(&access);
  const Shape shape = divergence.shape(address);
  const llvm::DataLayout& layout = access.getDataLayout();
  const unsigned bytes =
      element_bytes_of(llvm::getLoadStoreType(const_cast<llvm::Instruction*>(&access)), layout);
  if (!shape.is_affine() || bytes == 0 || private_base(address) != nullptr) return std::nullopt;
  Field field{};
  find_structure(address, layout, field);
  field.stride = shape.stride();
  field.bytes = bytes;
  return field;
}

struct Units {
  unsigned bytes = 0;
  std::int64_t begin = 0;    // of the first one, as Field::offset
  std::int64_t step = 0;     // from lane to lane
  std::int64_t touched = 0;  // number of accessed ones in a struct
};

// As large as the largest field, so that they have its alignment, and start and end inside the struct. Nothing if a
// field crosses a unit's boundary, or lanes are too far apart.
std::optional<Units> units_of(const std::vector<Field>& fields) {
  const Field& largest = *std::ranges::max_element(fields, {}, &Field::bytes);
  const std::int64_t size = largest.bytes;
  const std::int64_t stride = largest.stride;
  if (size > kLargestUnit || stride % size != 0 || stride / size > kLargestStep) return {};
  // Negative numbers are rounded down as well.
  const auto unit_of = [&](std::int64_t offset) {
    const std::int64_t distance = offset - largest.offset;
    return distance >= 0 ? distance / size : -((-distance + size - 1) / size);
  };
  llvm::SmallVector<std::int64_t, 8> touched;
  for (const Field& field : fields) {
    const std::int64_t unit = unit_of(field.offset);
    if (unit_of(field.offset + field.bytes - 1) != unit) return {};
    if (!llvm::is_contained(touched, unit)) touched.push_back(unit);
  }
  const std::int64_t low = *std::ranges::min_element(touched);
  const std::int64_t high = *std::ranges::max_element(touched);
  if ((high - low) * size >= stride) return {};
  return Units{.bytes = largest.bytes,
               .begin = largest.offset + low * size,
               .step = stride / size,
               .touched = static_cast<std::int64_t>(touched.size())};
}

bool is_of_no_concern(const llvm::Instruction& instruction) {
  return !instruction.mayReadOrWriteMemory() &&
         llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction);
}

}  // namespace

unsigned element_bytes_of(llvm::Type* type, const llvm::DataLayout& layout) {
  if (!llvm::VectorType::isValidElementType(type)) return 0;
  const std::uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  const bool packed = bits % 8 == 0 && bits == layout.getTypeAllocSizeInBits(type).getFixedValue();
  return packed ? static_cast<unsigned>(bits / 8) : 0;
}

const FieldGroup::Member& FieldGroup::member(const llvm::Instruction& access) const {
  return *std::ranges::find(members, &access, &Member::access);
}

// A group to which more accesses may be added.
struct FieldGroups::Open {
  std::vector<std::pair<Field, const llvm::Instruction*>> accesses;  // in the order of the code
  std::vector<Field> written;  // of the same structs, since the first of the loads

  bool empty() const { return accesses.empty(); }
  const Field& first() const { return accesses.front().first; }
  bool is_apart(const Field& field) const {
    return field.is_in_structure_of(first()) &&
           std::ranges::none_of(accesses, [&](const auto& access) { return access.first.overlaps(field); });
  }
  // Whether `field`, which is_apart, can be added to the group.
  bool takes(const Field& field, bool of_other_width) const {
    if (field.bytes != first().bytes && !of_other_width) return false;
    std::vector<Field> all{field};
    for (const auto& access : accesses) all.push_back(access.first);
    return units_of(all).has_value();
  }
};

FieldGroups::FieldGroups(const llvm::Function& function, const Divergence& divergence, unsigned vector_bits)
    : stores_bytes_(vector_bits == 512) {
  for (const llvm::BasicBlock& block : function) {
    find_loads(block, divergence);
    find_stores(block, divergence);
  }
}

const FieldGroup* FieldGroups::find(const llvm::Instruction& access) const {
  const auto found = members_.find(&access);
  return found == members_.end() ? nullptr : &groups_[found->second];
}

// Instructions between the first and the last load of a group must not write memory that is loaded later.
void FieldGroups::find_loads(const llvm::BasicBlock& block, const Divergence& divergence) {
  std::vector<Open> all;
  const auto close_if = [&](auto&& condition) {
    std::erase_if(all, [&](Open& open) {
      if (!condition(open)) return false;
      close(open);
      return true;
    });
  };
  for (const llvm::Instruction& instruction : block) {
    if (is_of_no_concern(instruction)) continue;
    const auto field = field_of(instruction, divergence);
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || !load->isSimple()) {
      const bool changes =
          instruction.mayWriteToMemory() || !llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction);
      close_if(
          [&](const Open& open) { return changes && !(field && field->is_in_structure_of(open.first())); });
      if (changes) {
        for (Open& open : all) open.written.push_back(*field);
      }
      continue;
    }
    if (!field || !field->has_gaps()) continue;
    const auto own = std::ranges::find_if(all, [&](const Open& open) {
      return field->is_in_structure_of(open.first()) && open.takes(*field, true);
    });
    const bool joins = own != all.end() && own->is_apart(*field) &&
                       std::ranges::none_of(own->written, [&](const Field& w) { return w.overlaps(*field); });
    if (joins) {
      own->accesses.emplace_back(*field, &instruction);
      continue;
    }
    if (own != all.end()) {
      close(*own);
      all.erase(own);
    }
    all.emplace_back().accesses.emplace_back(*field, &instruction);
  }
  close_if([](const Open&) { return true; });
}

// Instructions between the first and the last store of a group must not access the stored memory.
void FieldGroups::find_stores(const llvm::BasicBlock& block, const Divergence& divergence) {
  Open open;
  for (const llvm::Instruction& instruction : block) {
    if (is_of_no_concern(instruction) || instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load))
      continue;
    const auto field = field_of(instruction, divergence);
    const bool is_apart = field && !open.empty() && open.is_apart(*field);
    if (llvm::isa<llvm::LoadInst>(instruction)) {
      if (!is_apart) close(open);
      continue;
    }
    const bool is_field = field && field->has_gaps();
    if (!is_field || !is_apart || !open.takes(*field, stores_bytes_)) close(open);
    if (is_field) open.accesses.emplace_back(*field, &instruction);
  }
  close(open);
}

void FieldGroups::close(Open& open) {
  if (open.empty()) return;
  std::vector<Field> fields;
  for (const auto& access : open.accesses) fields.push_back(access.first);
  const std::optional<Units> units = units_of(fields);
  // The transfer pays if at least one unit in four is accessed.
  constexpr std::int64_t kUnitsPerTouched = 4;
  if (!units || units->step > kUnitsPerTouched * units->touched) {
    open.accesses.clear();
    return;
  }
  FieldGroup group;
  group.bytes = units->bytes;
  group.step = static_cast<unsigned>(units->step);
  group.covered.resize(group.step);
  for (const auto& [field, access] : open.accesses) {
    const auto at = static_cast<unsigned>(field.offset - units->begin);
    const FieldGroup::Member member{access, at / group.bytes, at % group.bytes, field.bytes};
    group.covered[member.unit] |= ((1U << field.bytes) - 1) << member.byte;
    group.members.push_back(member);
    members_[access] = groups_.size();
  }
  group.place = llvm::isa<llvm::LoadInst>(open.accesses.front().second) ? open.accesses.front().second
                                                                        : open.accesses.back().second;
  groups_.push_back(std::move(group));
  open.accesses.clear();
}

}  // namespace dhpvm::codegen::spmd
