// SPDX-License-Identifier: Apache-2.0
// One source line with an underline, as diagnostics show it.
#pragma once

#include <string>
#include <string_view>

#include "compiler/text/source.h"

namespace dhpvm::compiler {

struct SnippetStyle {
  std::string_view underline_begin;  // escape sequences around the underline; empty without colour
  std::string_view underline_end;
};

// Two lines, each ending in a newline:
//
//      7 |     let w = wdith + 1;
//        |             ^~~~~ label
//
// Tabs become blanks, unprintable characters become `?` or U+FFFD, so that the source cannot send control sequences to
// the terminal. A line too long for a terminal is cut around the range. A range over several lines is underlined to the
// end of its first. Empty ranges get one caret.
std::string render_snippet(const SourceFile& file, SourceRange range, std::string_view label,
                           const SnippetStyle& style);

}  // namespace dhpvm::compiler
