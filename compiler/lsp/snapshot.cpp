// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/snapshot.h"

#include <algorithm>
#include <utility>

#include "compiler/check/checker.h"
#include "compiler/check/warnings.h"
#include "compiler/lsp/resolver.h"

namespace dhpvm::compiler::lsp {

Snapshot::Snapshot(const std::string& path, std::string text, const ImportOptions& options)
    : program_(load_program(sources_, path, std::move(text), options, diagnostics_)) {
  analyse(*program_.modules.front());
}

Snapshot::Snapshot(const BuiltinModule& module, const ImportOptions& options)
    : program_(
          load_program(sources_, "", "import " + std::string(module.name) + ";\n", options, diagnostics_)) {
  const auto is_it = [&](const auto& loaded) { return loaded->is_stdlib && loaded->path == module.name; };
  const auto found = std::ranges::find_if(program_.modules, is_it);
  analyse(found == program_.modules.end() ? *program_.modules.front() : **found);
}

void Snapshot::analyse(const ast::Module& module) {
  module_ = &module;
  for (const auto& loaded : program_.modules) {
    complete_ = complete_ && loaded->is_complete;
    for (const ast::Import& import : loaded->imports) complete_ = complete_ && import.module != nullptr;
    if (!loaded->is_stdlib && loaded != program_.modules.front())
      imported_.push_back(sources_.file(loaded->file).name());
  }
  facts_ = std::make_unique<Facts>(module.file, file().text().size());
  if (complete_) {
    checked_ = check_observed(program_, diagnostics_, *facts_);
    if (!diagnostics_.has_errors()) warn(module, program_, diagnostics_);
  } else {
    // A name that the checker misses may exist and merely be unread.
    Diagnostics unsaid(sources_);
    checked_ = check_observed(program_, unsaid, *facts_);
  }
  scope_ = std::make_unique<ModuleScope>(program_, module);
  members_ = std::make_unique<Members>(program_, *facts_);
  Resolver(program_, module, *facts_, index_).run();
}

}  // namespace dhpvm::compiler::lsp
