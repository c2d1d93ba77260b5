// SPDX-License-Identifier: Apache-2.0
// The modules of the standard library as text, embedded when this is built.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compiler/text/builtin_module.h"

namespace dhpvm::stdlib {

// All of them, by name: "array", "atomic", "csv", ... The text lives as long as the program.
std::span<const compiler::BuiltinModule> modules();

// The source of one module, such as "list".
std::optional<std::string_view> source(std::string_view name);

}  // namespace dhpvm::stdlib
