// SPDX-License-Identifier: Apache-2.0
// The part of a document that a request needs. Functions are checked separately, so an answer about one place or one
// name need not wait for the others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/lsp/parsed.h"

namespace dhpvm::compiler::lsp {

// Whether the text contains the word as a whole word: `at` is in `at(i)`, and not in `that`.
bool holds_word(std::string_view text, std::string_view word);

// The functions in a range that contain a word.
struct Part {
  std::uint32_t begin = 0;
  std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  std::string_view word;       // empty: all functions
  bool with_messages = false;  // also collect the compiler's messages about them

  static Part at(std::uint32_t place) { return {place, place, {}, false}; }
  static Part with_word(std::string_view word) {
    Part part;
    part.word = word;
    return part;
  }
  bool is_whole() const { return begin == 0 && end == Part().end && word.empty(); }
};

// The functions and methods of a part, in their order. Empty optional: all functions are needed, because generic code
// and fields are checked at their uses elsewhere.
using FunctionList = std::vector<const ast::Function*>;
std::optional<FunctionList> functions_of(const Parsed& parsed, const Part& part);
// The range of a part, extended to whole functions.
SourceRange range_of(const Parsed& parsed, const Part& part);

}  // namespace dhpvm::compiler::lsp
