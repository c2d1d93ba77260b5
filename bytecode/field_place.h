// SPDX-License-Identifier: Apache-2.0
// Which part of an element an instruction accesses: the whole one, or a field of a struct. Loads and stores of fields
// have opcodes of their own; an atomic update says it in the upper half of its second word.
#pragma once

#include <cstdint>
#include <optional>

#include "bytecode/isa.h"

namespace dhpvm::bytecode {

struct FieldPlace {
  std::uint32_t size = 0;    // of the struct, in bytes
  std::uint32_t offset = 0;  // of the field in it
};

// Atomic updates count in units of 4 bytes, 16 bits for each: the fields that they update have 4 or 8 bytes.
inline constexpr std::uint32_t kAtomicUnit = 4;
inline constexpr std::uint32_t kMaxAtomicStruct = 0xffff * kAtomicUnit;

// The upper half of the second word of an atomic update of a field.
constexpr Word atomic_place(FieldPlace place) {
  return Word{place.offset / kAtomicUnit} << 32 | Word{place.size / kAtomicUnit} << 48;
}

// The field that the instruction accesses; nothing if it accesses whole elements. `x` is its second word, if there is
// one.
constexpr std::optional<FieldPlace> field_place(Family family, Operand kind_of_x, Word x) {
  if (kind_of_x == Operand::kElement) return FieldPlace{element_size_of(x), element_offset_of(x)};
  if (family != Family::kAtomic || x >> 32 == 0) return std::nullopt;
  return FieldPlace{kAtomicUnit * static_cast<std::uint32_t>(x >> 48),
                    kAtomicUnit * static_cast<std::uint32_t>(x >> 32 & 0xffff)};
}

}  // namespace dhpvm::bytecode
