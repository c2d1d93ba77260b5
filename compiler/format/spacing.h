// SPDX-License-Identifier: Apache-2.0
// Blanks between the tokens of one line.
#pragma once

#include "compiler/format/pieces.h"

namespace dhpvm::compiler {

// Whether a blank stands between two tokens. `earlier` is the one before `left`, or null. Where the tokens alone do not
// tell, as with `<` that may compare or hold type arguments, it stays as it was written.
bool has_blank_between(const Piece* earlier, const Piece& left, const Piece& right);

}  // namespace dhpvm::compiler
