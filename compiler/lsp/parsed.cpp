// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/parsed.h"

#include <algorithm>
#include <utility>

namespace dhpvm::compiler::lsp {

Parsed::Parsed(const std::string& path, std::string text, const ImportOptions& options)
    : program_(load_program(sources_, path, std::move(text), options, diagnostics_)),
      module_(program_.modules.front().get()) {
  look_over();
}

Parsed::Parsed(const BuiltinModule& module, const ImportOptions& options)
    : program_(
          load_program(sources_, "", "import " + std::string(module.name) + ";\n", options, diagnostics_)) {
  const auto is_it = [&](const auto& loaded) { return loaded->is_stdlib && loaded->path == module.name; };
  const auto found = std::ranges::find_if(program_.modules, is_it);
  module_ = found == program_.modules.end() ? program_.modules.front().get() : found->get();
  look_over();
}

void Parsed::look_over() {
  for (const auto& loaded : program_.modules) {
    complete_ = complete_ && loaded->is_complete;
    for (const ast::Import& import : loaded->imports) complete_ = complete_ && import.module != nullptr;
    if (!loaded->is_stdlib && loaded != program_.modules.front())
      imported_.push_back(sources_.file(loaded->file).name());
  }
}

}  // namespace dhpvm::compiler::lsp
