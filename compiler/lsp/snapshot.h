// SPDX-License-Identifier: Apache-2.0
// Immutable knowledge about one document at one moment: its program, checked as far as possible, and the meaning of its
// names. For a request only the functions that the answer needs are checked, which takes a third of the time around one
// place.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "compiler/hir/hir.h"
#include "compiler/lsp/facts.h"
#include "compiler/lsp/index.h"
#include "compiler/lsp/members.h"
#include "compiler/lsp/parsed.h"
#include "compiler/lsp/part.h"
#include "compiler/lsp/scope.h"
#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

// Returns true to stop the work in progress for something more urgent.
using Interrupt = std::function<bool()>;

// Immutable. Parts point into one another, so it must not be moved.
class Snapshot {
 public:
  // `functions`: those to check; empty optional: all.
  Snapshot(std::shared_ptr<const Parsed> parsed, std::optional<FunctionList> functions, bool with_messages,
           const Interrupt& interrupt = {});
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const Parsed& parsed() const { return *parsed_; }
  const ast::Program& program() const { return parsed_->program(); }
  const ast::Module& module() const { return parsed_->module(); }  // the document's
  const SourceFile& file() const { return parsed_->file(); }
  const SourceFile& file(SourceRange range) const { return parsed_->sources().file(range.file); }
  const ast::Module& module_of(SourceRange range) const { return members_->module_of(range); }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const Facts& facts() const { return *facts_; }
  const Index& index() const { return index_; }
  const ModuleScope& scope() const { return *scope_; }
  const Members& members() const { return *members_; }
  bool is_complete() const { return parsed_->is_complete(); }
  // Whether it can answer requests about these functions.
  bool knows(const std::optional<FunctionList>& functions, bool with_messages) const;
  // False if it was interrupted, and so is unusable.
  bool is_finished() const { return !facts_->was_interrupted(); }

 private:
  void check();

  std::shared_ptr<const Parsed> parsed_;
  std::optional<FunctionList> functions_;
  bool with_messages_;
  Diagnostics diagnostics_;
  std::unique_ptr<Facts> facts_;
  std::unique_ptr<hir::Program> checked_;
  std::unique_ptr<ModuleScope> scope_;
  std::unique_ptr<Members> members_;
  Index index_;
};

}  // namespace dhpvm::compiler::lsp
