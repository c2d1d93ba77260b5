// SPDX-License-Identifier: Apache-2.0
// `dhpvmc lsp`: a server for editors, over standard input and output.
#pragma once

#include <span>

#include "ending.h"

namespace dhpvm::tools {

// `words`: the command line after `lsp`.
Ending language_server_command(std::span<const char* const> words);

}  // namespace dhpvm::tools
