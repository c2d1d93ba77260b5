// SPDX-License-Identifier: Apache-2.0
#include "stdlib/modules.h"

namespace dhpvm::stdlib {
namespace {

// These literals know their length. Compilers count no further than to a million when they look for the end of others,
// and all modules together are about as long.
using std::string_view_literals::operator""sv;

// Generated from stdlib/*.dhp by cmake/EmbedModules.cmake: rows `{"name", R"...(text)..."sv},`.
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
