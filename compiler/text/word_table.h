// SPDX-License-Identifier: Apache-2.0
// Tables of words of other languages, for habits.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace dhpvm::compiler {

struct Translation {
  std::string_view foreign;
  std::string_view here;
};

// For names, and for words before names.
inline constexpr std::string_view kThreads = "there are no threads: `parallel for` runs a loop on all cores";

template <std::size_t N>
constexpr std::string_view translate(const Translation (&table)[N], std::string_view word) {
  for (const Translation& row : table) {
    if (row.foreign == word) return row.here;
  }
  return {};
}

template <std::size_t N>
constexpr bool holds(const std::string_view (&table)[N], std::string_view word) {
  return std::find(std::begin(table), std::end(table), word) != std::end(table);
}

}  // namespace dhpvm::compiler
