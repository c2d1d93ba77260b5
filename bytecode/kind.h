// SPDX-License-Identifier: Apache-2.0
// The kinds of values: of fields and elements, of parameters, and of what instructions compute with.
#pragma once

#include <cstdint>

namespace dhpvm::bytecode {

// The form of a value in a field or array element, and of a parameter for a host. Structs do not appear
// here: the compiler flattens them into one value per field.
enum class Kind : std::uint8_t { kBool, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64, kRef };

// Bytes in memory: 1, 2, 4 or 8.
constexpr std::uint32_t size_of(Kind kind) {
  constexpr std::uint8_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8};
  return kSizes[static_cast<unsigned>(kind)];
}

constexpr bool is_float(Kind kind) { return kind == Kind::kF32 || kind == Kind::kF64; }
// Whether integers of the kind have a sign, so that they are extended, compared, divided and shifted with it.
constexpr bool is_signed(Kind kind) {
  return kind == Kind::kI8 || kind == Kind::kI16 || kind == Kind::kI32 || kind == Kind::kI64;
}

}  // namespace dhpvm::bytecode
