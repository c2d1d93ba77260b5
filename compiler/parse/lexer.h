// SPDX-License-Identifier: Apache-2.0
// Turns text into tokens. Accepts any bytes: bytes that form no token are reported and skipped, so that the parser
// always gets a stream that ends in kEnd.
#pragma once

#include <cstdint>

#include "compiler/parse/token.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

// The tokens of file number `file` of `sources`. Errors go to `diagnostics`.
TokenStream lex(const SourceManager& sources, std::uint32_t file, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
