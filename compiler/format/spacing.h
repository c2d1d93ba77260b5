// SPDX-License-Identifier: Apache-2.0
// Blanks between the tokens of one line.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/format/pieces.h"

namespace dhpvm::compiler {

// Whether a blank precedes piece `n`, which is not the first of its line. If the tokens are ambiguous, as with `<` that
// may compare or enclose type arguments, the source decides.
bool has_blank_before(const std::vector<Piece>& pieces, std::size_t n);

}  // namespace dhpvm::compiler
