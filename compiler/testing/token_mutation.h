// SPDX-License-Identifier: Apache-2.0
// Mutates the tokens of a program: the result is mostly wrong, and sometimes a valid program that no person would
// write.
#pragma once

#include <string>
#include <string_view>

#include "base/decisions.h"

namespace dhpvm::compiler::testing {

// `source` with a few tokens deleted, repeated, exchanged, or replaced by others of the program or of the language.
std::string mutate_tokens(std::string_view source, Decisions& decisions);

}  // namespace dhpvm::compiler::testing
