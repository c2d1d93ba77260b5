// SPDX-License-Identifier: Apache-2.0
// All that is known about one document at one moment: its program, checked as far as it can be, and what its names
// mean. Where a request waits for an answer, the checker looks at the functions alone that the answer is about: around
// a place, that takes a third of the time.
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

// Whether something else has become more important than what is being found out.
using Interrupt = std::function<bool()>;

// Nothing of it changes once it is made. Parts point into one another, so it stays where it is.
class Snapshot {
 public:
  // `functions`: those that are checked; nothing for all.
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
  // Whether answers about these functions can come from it.
  bool knows(const std::optional<FunctionList>& functions, bool with_messages) const;
  // False where it was interrupted, and knows nothing.
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
