// SPDX-License-Identifier: Apache-2.0
// Loads and stores of fields (field_groups.h): whole vectors of contiguous memory, and shuffles between them and one
// vector for each field.
#include <llvm/ADT/Sequence.h>
#include <llvm/IR/DataLayout.h>

#include <algorithm>

#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

using Vectors = llvm::SmallVector<llvm::Value*, 8>;

unsigned width_of(llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

Vectors every_second(const Vectors& vectors, unsigned from) {
  Vectors half;
  for (std::size_t n = from; n < vectors.size(); n += 2) half.push_back(vectors[n]);
  return half;
}

// From one vector for each field to the elements in memory order: lane 0's fields, lane 1's, and so on.
Vectors interleave(llvm::IRBuilder<>& builder, const Vectors& fields) {
  const auto step = static_cast<unsigned>(fields.size());
  if (step == 1) return fields;
  const unsigned width = width_of(fields[0]);
  Vectors parts;
  if (step % 2 == 0) {
    const Vectors even = interleave(builder, every_second(fields, 0));
    const Vectors odd = interleave(builder, every_second(fields, 1));
    for (unsigned part = 0; part < step; ++part) {
      llvm::SmallVector<int, 64> zip;
      for (unsigned lane = 0; lane < width; ++lane)
        zip.push_back(static_cast<int>((part % 2 * width + lane) / 2 + (lane % 2) * width));
      parts.push_back(builder.CreateShuffleVector(even[part / 2], odd[part / 2], zip));
    }
    return parts;
  }
  for (unsigned part = 0; part < step; ++part) {
    llvm::Value* elements = llvm::PoisonValue::get(fields[0]->getType());
    for (unsigned n = 0; n < step; ++n) {
      llvm::SmallVector<int, 64> picks;
      for (unsigned lane = 0; lane < width; ++lane) {
        const unsigned at = part * width + lane;
        picks.push_back(static_cast<int>(at % step == n ? width + at / step : lane));
      }
      elements = builder.CreateShuffleVector(elements, fields[n], picks);
    }
    parts.push_back(elements);
  }
  return parts;
}

// The inverse.
Vectors take_apart(llvm::IRBuilder<>& builder, const Vectors& parts) {
  const auto step = static_cast<unsigned>(parts.size());
  if (step == 1) return parts;
  const unsigned width = width_of(parts[0]);
  Vectors fields;
  if (step % 2 == 0) {
    Vectors halves[2];
    for (unsigned part = 0; part < step; part += 2) {
      for (unsigned odd = 0; odd < 2; ++odd) {
        llvm::SmallVector<int, 64> unzip;
        for (unsigned lane = 0; lane < width; ++lane) unzip.push_back(static_cast<int>(2 * lane + odd));
        halves[odd].push_back(builder.CreateShuffleVector(parts[part], parts[part + 1], unzip));
      }
    }
    const Vectors even = take_apart(builder, halves[0]);
    const Vectors odd = take_apart(builder, halves[1]);
    for (unsigned n = 0; n < step; ++n) fields.push_back((n % 2 == 0 ? even : odd)[n / 2]);
    return fields;
  }
  for (unsigned n = 0; n < step; ++n) {
    llvm::Value* field = llvm::PoisonValue::get(parts[0]->getType());
    for (unsigned part = 0; part < step; ++part) {
      llvm::SmallVector<int, 64> picks;
      for (unsigned lane = 0; lane < width; ++lane) {
        const unsigned at = lane * step + n;
        picks.push_back(static_cast<int>(at / width == part ? width + at % width : lane));
      }
      field = builder.CreateShuffleVector(field, parts[part], picks);
    }
    fields.push_back(field);
  }
  return fields;
}

llvm::Align alignment_of(const FieldGroup& group) {
  const llvm::Align align = llvm::getLoadStoreAlignment(const_cast<llvm::Instruction*>(group.place));
  return llvm::Align(llvm::MinAlign(align.value(), group.bytes));
}

// Metadata of the access holds for all fields of a struct, except for type-based alias information.
void copy_metadata(llvm::Instruction& to, const llvm::Instruction& from) {
  to.copyMetadata(from, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
}

}  // namespace

// Fields may be numbers of different kinds.
llvm::Type* Widener::units_of(const FieldGroup& group) {
  return llvm::FixedVectorType::get(builder_.getIntNTy(group.bytes * 8), width_);
}

llvm::Value* Widener::part_of(const FieldGroup& group, unsigned part) {
  // The addresses of the other fields may not be available yet.
  llvm::Value* const address = values_.scalar(llvm::getLoadStorePointerOperand(group.place));
  const FieldGroup::Member& own = group.member(*group.place);
  const std::int64_t begin = std::int64_t{own.unit} * group.bytes + own.byte;
  const std::int64_t offset = std::int64_t{part} * width_ * group.bytes - begin;
  return builder_.CreateGEP(builder_.getInt8Ty(), address,
                            builder_.getInt64(static_cast<std::uint64_t>(offset)));
}

// Selects the units of a part, in `pieces` each, for which `is_wanted` is true and whose lanes are active.
llvm::Value* Widener::mask_of(const FieldGroup& group, unsigned part, unsigned pieces,
                              llvm::function_ref<bool(unsigned unit, unsigned piece)> is_wanted) {
  llvm::SmallVector<llvm::Constant*, 64> wanted;
  llvm::SmallVector<int, 64> lanes;
  for (unsigned n = 0; n < width_ * pieces; ++n) {
    const unsigned at = part * width_ + n / pieces;
    lanes.push_back(static_cast<int>(at / group.step));
    wanted.push_back(builder_.getInt1(is_wanted(at % group.step, n % pieces)));
  }
  llvm::Value* const mask = llvm::ConstantVector::get(wanted);
  if (is_full(mask_)) return mask;
  return builder_.CreateAnd(mask, builder_.CreateShuffleVector(mask_, lanes));
}

// A masked gather loads nothing unneeded, so masks pay only for several fields.
bool Widener::moves_together(const FieldGroup& group) const {
  return is_full(mask_) || group.members.size() > 1;
}

// With all lanes active, all units from the first lane's to the last one's; memory after them may be inaccessible.
// Under a mask, only those with fields: any active lane may be the last one with accessible memory.
void Widener::load_fields(const FieldGroup& group) {
  const llvm::Align align = alignment_of(group);
  unsigned used = 0;
  for (const FieldGroup::Member& member : group.members) used = std::max(used, member.unit + 1);
  const unsigned end = (width_ - 1) * group.step + used;
  llvm::Type* const type = units_of(group);
  Vectors parts;
  for (unsigned part = 0; part < group.step; ++part) {
    const unsigned begin = part * width_;
    llvm::Value* const from = part_of(group, part);
    llvm::Instruction* made = nullptr;
    if (is_full(mask_) && begin + width_ > end) {
      // Without a mask, because many processors have none for units of this size.
      const unsigned back = begin + width_ - end;
      llvm::Value* const earlier = builder_.CreateGEP(
          builder_.getInt8Ty(), from,
          builder_.getInt64(static_cast<std::uint64_t>(-std::int64_t{back} * group.bytes)));
      made = builder_.CreateAlignedLoad(type, earlier, align);
      copy_metadata(*made, *group.place);
      llvm::SmallVector<int, 64> picks;
      for (unsigned lane = 0; lane < width_; ++lane)
        picks.push_back(lane + back < width_ ? static_cast<int>(lane + back) : llvm::PoisonMaskElem);
      parts.push_back(builder_.CreateShuffleVector(made, picks));
      continue;
    }
    if (is_full(mask_)) {
      made = builder_.CreateAlignedLoad(type, from, align);
    } else {
      llvm::Value* const mask =
          mask_of(group, part, 1, [&](unsigned unit, unsigned) { return group.covered[unit] != 0; });
      made = builder_.CreateMaskedLoad(type, from, align, mask, llvm::PoisonValue::get(type));
    }
    copy_metadata(*made, *group.place);
    parts.push_back(made);
  }
  const Vectors found = take_apart(builder_, parts);
  for (const FieldGroup::Member& member : group.members) {
    llvm::Value* field = found[member.unit];
    if (member.byte != 0) field = builder_.CreateLShr(field, std::uint64_t{member.byte} * 8);
    field = builder_.CreateTrunc(field, bits_of(member));
    values_.set_vector(member.access, builder_.CreateBitCast(field, widen(member.access->getType(), width_)));
  }
}

llvm::Type* Widener::bits_of(const FieldGroup::Member& member) {
  return llvm::FixedVectorType::get(builder_.getIntNTy(member.bytes * 8), width_);
}

// Bytes between fields belong to other threads, which may write them.
void Widener::store_fields(const FieldGroup& group) {
  const llvm::Align align = alignment_of(group);
  llvm::Type* const type = units_of(group);
  Vectors units(group.step, llvm::PoisonValue::get(type));
  for (const FieldGroup::Member& member : group.members) {
    llvm::Value* field =
        builder_.CreateBitCast(values_.vector(member.access->getOperand(0)), bits_of(member));
    field = builder_.CreateZExt(field, type);
    if (member.byte != 0) field = builder_.CreateShl(field, std::uint64_t{member.byte} * 8);
    llvm::Value*& unit = units[member.unit];
    unit = llvm::isa<llvm::PoisonValue>(unit) ? field : builder_.CreateOr(unit, field);
  }
  const bool is_whole = llvm::all_of(llvm::seq(group.step), [&](unsigned unit) {
    return group.covered[unit] == 0 || group.is_covered(unit);
  });
  const unsigned pieces = is_whole ? 1 : group.bytes;
  const auto is_wanted = [&](unsigned unit, unsigned byte) { return (group.covered[unit] >> byte & 1) != 0; };
  llvm::Type* const pieces_type =
      is_whole ? type : llvm::FixedVectorType::get(builder_.getInt8Ty(), width_ * pieces);
  const Vectors parts = interleave(builder_, units);
  for (unsigned part = 0; part < group.step; ++part) {
    llvm::Value* const mask = mask_of(group, part, pieces, is_wanted);
    llvm::Value* const to = part_of(group, part);
    llvm::Value* const stored = builder_.CreateBitCast(parts[part], pieces_type);
    llvm::Instruction* const made =
        is_full(mask) ? static_cast<llvm::Instruction*>(builder_.CreateAlignedStore(stored, to, align))
                      : builder_.CreateMaskedStore(stored, to, align, mask);
    copy_metadata(*made, *group.place);
  }
}

}  // namespace dhpvm::codegen::spmd
