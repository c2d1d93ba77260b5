// SPDX-License-Identifier: Apache-2.0
#include "stdlib/modules.h"

namespace dhpvm::stdlib {
namespace {

// Generated from stdlib/*.dhp by cmake/EmbedModules.cmake: rows `{"name", R"...(text)..."},`.
constexpr compiler::BuiltinModule kModules[] = {
#include "stdlib_modules.inc"
};

}  // namespace

std::span<const compiler::BuiltinModule> modules() { return kModules; }

std::optional<std::string_view> source(std::string_view name) {
  for (const compiler::BuiltinModule& module : kModules) {
    if (module.name == name) return module.text;
  }
  return std::nullopt;
}

}  // namespace dhpvm::stdlib
