// SPDX-License-Identifier: Apache-2.0
// The formatter: the text of a program in the one style of the language.
#pragma once

#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::compiler {

// The same tokens and comments, with blanks, indentation and blank lines as docs/language.md describes them.
// Idempotent. kCompile: the file has syntax errors, and the message is the rendered diagnostics; `name` is the file's
// name in them. Thread-safe.
Result<std::string> format(std::string_view source, const std::string& name, bool colour = false);

}  // namespace dhpvm::compiler
