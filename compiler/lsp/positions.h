// SPDX-License-Identifier: Apache-2.0
// Positions of the protocol: lines from 0, and columns in UTF-16 units.
#pragma once

#include <cstdint>

#include "compiler/lsp/json.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

// An offset past the end counts as the end.
Json position_of(const SourceFile& file, std::uint32_t offset);
// A position beyond the end of its line is the line's end, one beyond the last line the end of the text; a position
// inside a character is the character's start.
std::uint32_t offset_of(const SourceFile& file, const Json& position);

Json range_of(const SourceFile& file, std::uint32_t begin, std::uint32_t end);
inline Json range_of(const SourceFile& file, SourceRange range) {
  return range_of(file, range.begin, range.end);
}

}  // namespace dhpvm::compiler::lsp
