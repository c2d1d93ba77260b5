// SPDX-License-Identifier: Apache-2.0
// `dhpvmc fmt`: rewrites sources in the style of the language.
#pragma once

#include <span>

#include "ending.h"

namespace dhpvm::tools {

// `words`: the command line after `fmt`.
Ending format_command(std::span<const char* const> words);

}  // namespace dhpvm::tools
