// SPDX-License-Identifier: Apache-2.0
// `dhpvmc fmt`: sources in the style of the language.
#pragma once

#include <span>

#include "ending.h"

namespace dhpvm::tools {

// `words` are what follows `fmt` on the command line.
Ending format_command(std::span<const char* const> words);

}  // namespace dhpvm::tools
