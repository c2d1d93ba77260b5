// SPDX-License-Identifier: Apache-2.0
// Lines and their indentation.
#pragma once

#include <string>
#include <vector>

#include "compiler/format/pieces.h"

namespace dhpvm::compiler {

// The text of a file. Lines end where the source's do, and
// - behind each statement of a block that has several lines,
// - not before `;`, `,` and `{`, nor between brackets that hold nothing,
// - not before the `else` or `catch` of a block that has several lines.
// A line is indented by 4 within braces, by 4 more where it goes on with a statement, and within parentheses and
// brackets to the column behind the opening one, or by 4 if that ends its line. At most one blank line stands between
// others, none at either end of a block.
std::string lay_out(const std::vector<Piece>& pieces);

}  // namespace dhpvm::compiler
