// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/snapshot.h"

#include <algorithm>
#include <utility>

#include "compiler/check/checker.h"
#include "compiler/check/warnings.h"
#include "compiler/lsp/resolver.h"

namespace dhpvm::compiler::lsp {

namespace {

bool holds(const ast::Function& function, std::uint32_t place) {
  return function.range.begin <= place && place <= function.range.end;
}

// The function or method that stands around a place, if it can be checked by itself. Generic code is checked for its
// uses, which stand elsewhere.
const ast::Function* function_around(const ast::Module& module, std::uint32_t place) {
  const ast::Function* found = nullptr;
  const auto look_at = [&](const ast::Function* function) {
    if (function != nullptr && function->type_parameters.empty() && holds(*function, place)) found = function;
  };
  for (const ast::Function* function : module.functions) look_at(function);
  for (const ast::TypeDecl* type : module.types) {
    if (!type->type_parameters.empty()) continue;
    look_at(type->init);
    for (const ast::Function* method : type->methods) look_at(method);
  }
  return found;
}

}  // namespace

Snapshot::Snapshot(const std::string& path, std::string text, const ImportOptions& options,
                   std::optional<std::uint32_t> place)
    : program_(load_program(sources_, path, std::move(text), options, diagnostics_)) {
  analyse(*program_.modules.front(), place);
}

Snapshot::Snapshot(const BuiltinModule& module, const ImportOptions& options)
    : program_(
          load_program(sources_, "", "import " + std::string(module.name) + ";\n", options, diagnostics_)) {
  const auto is_it = [&](const auto& loaded) { return loaded->is_stdlib && loaded->path == module.name; };
  const auto found = std::ranges::find_if(program_.modules, is_it);
  analyse(found == program_.modules.end() ? *program_.modules.front() : **found, std::nullopt);
}

void Snapshot::analyse(const ast::Module& module, std::optional<std::uint32_t> place) {
  module_ = &module;
  if (place.has_value()) only_ = function_around(module, *place);
  for (const auto& loaded : program_.modules) {
    complete_ = complete_ && loaded->is_complete;
    for (const ast::Import& import : loaded->imports) complete_ = complete_ && import.module != nullptr;
    if (!loaded->is_stdlib && loaded != program_.modules.front())
      imported_.push_back(sources_.file(loaded->file).name());
  }
  const std::size_t bytes = is_whole() ? file().text().size() : only_->range.end - only_->range.begin;
  facts_ = std::make_unique<Facts>(module.file, bytes, only_);
  if (complete_ && is_whole()) {
    checked_ = check_observed(program_, diagnostics_, *facts_);
    if (!diagnostics_.has_errors()) warn(module, program_, diagnostics_);
  } else {
    // A name that the checker misses may exist and merely be unread; and mistakes are told of whole documents.
    Diagnostics unsaid(sources_);
    checked_ = check_observed(program_, unsaid, *facts_);
  }
  scope_ = std::make_unique<ModuleScope>(program_, module);
  members_ = std::make_unique<Members>(program_, *facts_);
  Resolver(program_, module, *facts_, index_).run();
}

}  // namespace dhpvm::compiler::lsp
