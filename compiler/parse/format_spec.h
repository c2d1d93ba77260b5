// SPDX-License-Identifier: Apache-2.0
// The part after the colon in f"{x:>8.3f}".
#pragma once

#include <string>
#include <string_view>

#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

// Replaces a number that the program computes: {x:{width}}.
constexpr char kComputedNumber = '\x01';

// Reads [[fill]align][sign][#][0][width][,][.precision][type]. Returns false with the reason in `problem` (a
// sentence without a full stop) when `text` is not of that form.
bool parse_format_spec(std::string_view text, ast::FormatSpec& spec, std::string& problem);

}  // namespace dhpvm::compiler
