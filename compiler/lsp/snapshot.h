// SPDX-License-Identifier: Apache-2.0
// All that is known about one document at one moment: its program, checked as far as it can be, and what its names
// mean. Where a request waits for the answer about one place, the checker looks at the function around it alone: that
// takes a third of the time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/hir/hir.h"
#include "compiler/lsp/facts.h"
#include "compiler/lsp/index.h"
#include "compiler/lsp/members.h"
#include "compiler/lsp/scope.h"
#include "compiler/parse/ast.h"
#include "compiler/parse/imports.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

// Nothing of it changes once it is made. Parts point into one another, so it stays where it is.
class Snapshot {
 public:
  // The document as the root of a program; with a place, checked as far as it takes to answer about that.
  Snapshot(const std::string& path, std::string text, const ImportOptions& options,
           std::optional<std::uint32_t> place = std::nullopt);
  // A module of the library: the document is what a program gets that imports it.
  Snapshot(const BuiltinModule& module, const ImportOptions& options);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const ast::Program& program() const { return program_; }
  const ast::Module& module() const { return *module_; }  // the document's
  const SourceFile& file() const { return sources_.file(module_->file); }
  const SourceFile& file(SourceRange range) const { return sources_.file(range.file); }
  const ast::Module& module_of(SourceRange range) const { return members_->module_of(range); }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const Facts& facts() const { return *facts_; }
  const Index& index() const { return index_; }
  const ModuleScope& scope() const { return *scope_; }
  const Members& members() const { return *members_; }
  // False where syntax errors have swallowed declarations, so that answers may lack something.
  bool is_complete() const { return complete_; }
  // Whether answers about a place, and not about others, can come from it.
  bool knows(std::uint32_t place) const {
    return only_ == nullptr || (only_->range.begin <= place && place <= only_->range.end);
  }
  // Whether it knows all places, and all mistakes.
  bool is_whole() const { return only_ == nullptr; }
  // The other files that it was made from, by path: not those of the library.
  const std::vector<std::string>& imported() const { return imported_; }

 private:
  void analyse(const ast::Module& module, std::optional<std::uint32_t> place);

  SourceManager sources_;
  Diagnostics diagnostics_{sources_};
  ast::Program program_;
  const ast::Module* module_ = nullptr;
  const ast::Function* only_ = nullptr;  // the one that was checked; null: all
  bool complete_ = true;
  std::unique_ptr<Facts> facts_;
  std::unique_ptr<hir::Program> checked_;
  std::unique_ptr<ModuleScope> scope_;
  std::unique_ptr<Members> members_;
  Index index_;
  std::vector<std::string> imported_;
};

}  // namespace dhpvm::compiler::lsp
