// SPDX-License-Identifier: Apache-2.0
// The types of an argument's elements: their names, and their values as text and as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::tools {

// X(name, text, bytes, NumPy's letter and size). NumPy has no bf16; its files have the bits.
#define DHPVM_PTX_ELEMENTS(X) \
  X(kU8, "u8", 1, "u1")       \
  X(kS8, "s8", 1, "i1")       \
  X(kU16, "u16", 2, "u2")     \
  X(kS16, "s16", 2, "i2")     \
  X(kU32, "u32", 4, "u4")     \
  X(kS32, "s32", 4, "i4")     \
  X(kU64, "u64", 8, "u8")     \
  X(kS64, "s64", 8, "i8")     \
  X(kF16, "f16", 2, "f2")     \
  X(kBF16, "bf16", 2, "u2")   \
  X(kF32, "f32", 4, "f4")     \
  X(kF64, "f64", 8, "f8")
enum class Element : std::uint8_t {
#define X(name, text, bytes, numpy) name,
  DHPVM_PTX_ELEMENTS(X)
#undef X
};

std::size_t size_of(Element type);
std::string_view text_of(Element type);
std::string_view numpy_of(Element type);
// Also by the names i8 to i64 and b8 to b64. kInvalidArgument.
Result<Element> element_of(std::string_view text);
// Writes the value to size_of(type) bytes. kInvalidArgument when it is no number of the type.
Status write_element(Element type, std::string_view text, std::byte* to);
// A text that gives the same value when it is read again.
std::string element_text(Element type, const std::byte* from);

}  // namespace dhpvm::tools
