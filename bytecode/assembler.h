// SPDX-License-Identifier: Apache-2.0
// Text to module. The language is that of the disassembler; docs/bytecode.md describes it.
#pragma once

#include <string_view>

#include "bytecode/module.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode {

// kCompile with one "line n: ..." per mistake, several per run. Accepts any text without crashing. The module
// is encoded, not verified: numbers are taken as they are written, so that tests can build wrong modules.
Result<Module> assemble(std::string_view text);

}  // namespace dhpvm::bytecode
