// SPDX-License-Identifier: Apache-2.0
// The spelling of enumerators in text: assembly, messages, documentation.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

inline constexpr std::array<std::string_view, 12> kKindNames = {"bool", "i8",  "u8",  "i16", "u16", "i32",
                                                                "u32",  "i64", "u64", "f32", "f64", "ref"};
inline constexpr std::array<std::string_view, 7> kTypeKindNames = {"string", "resource", "class", "interface",
                                                                   "struct", "array",    "weak"};
inline constexpr std::array<std::string_view, 7> kReductionNames = {"add", "mul", "min", "max",
                                                                    "and", "or",  "xor"};

constexpr std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
constexpr std::string_view name_of(TypeKind kind) { return kTypeKindNames[static_cast<std::size_t>(kind)]; }
constexpr std::string_view name_of(ReductionOp op) { return kReductionNames[static_cast<std::size_t>(op)]; }

// The enumerator spelled `name` in one of the lists above.
template <typename E, std::size_t N>
constexpr std::optional<E> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace dhpvm::bytecode
