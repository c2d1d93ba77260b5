// SPDX-License-Identifier: Apache-2.0
// How much of a document a request needs to know. Functions are checked by themselves, so an answer about one place, or
// about one name, need not wait for the others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/lsp/parsed.h"

namespace dhpvm::compiler::lsp {

// Whether the text has the word as a whole one: `at` stands in `at(i)`, and not in `that`.
bool holds_word(std::string_view text, std::string_view word);

// The functions in a range in which a word stands.
struct Part {
  std::uint32_t begin = 0;
  std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  std::string_view word;       // empty: whatever stands in them
  bool with_messages = false;  // the compiler's messages about them are wanted, too

  static Part at(std::uint32_t place) { return {place, place, {}, false}; }
  static Part with_word(std::string_view word) {
    Part part;
    part.word = word;
    return part;
  }
  bool is_whole() const { return begin == 0 && end == Part().end && word.empty(); }
};

// The functions and methods of a part, in their order. Nothing where it takes all of them: generic code is checked for
// its uses, which stand elsewhere, and so are fields.
using FunctionList = std::vector<const ast::Function*>;
std::optional<FunctionList> functions_of(const Parsed& parsed, const Part& part);
// The range of a part with all of its functions.
SourceRange range_of(const Parsed& parsed, const Part& part);

}  // namespace dhpvm::compiler::lsp
