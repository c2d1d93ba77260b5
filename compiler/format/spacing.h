// SPDX-License-Identifier: Apache-2.0
// Blanks between the tokens of one line.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/format/pieces.h"

namespace dhpvm::compiler {

// Whether a blank stands before piece `n`, which is not the first of its line. Where the tokens alone do not tell, as
// with `<` that may compare or hold type arguments, it stays as it was written.
bool has_blank_before(const std::vector<Piece>& pieces, std::size_t n);

}  // namespace dhpvm::compiler
