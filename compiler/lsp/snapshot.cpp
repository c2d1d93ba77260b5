// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/snapshot.h"

#include <algorithm>
#include <utility>

#include "compiler/check/checker.h"
#include "compiler/check/warnings.h"
#include "compiler/lsp/resolver.h"

namespace dhpvm::compiler::lsp {

Snapshot::Snapshot(std::shared_ptr<const Parsed> parsed, std::optional<FunctionList> functions,
                   bool with_messages, const Interrupt& interrupt)
    : parsed_(std::move(parsed)),
      functions_(std::move(functions)),
      with_messages_(with_messages || !functions_.has_value()),
      diagnostics_(parsed_->sources()),
      facts_(std::make_unique<Facts>(parsed_->module().file, file().text().size(),
                                     functions_.has_value() ? &*functions_ : nullptr, interrupt)) {
  for (const Diagnostic& told : parsed_->diagnostics().all())
    diagnostics_.add(told.severity, told.range, told.message) = told;
  check();
  scope_ = std::make_unique<ModuleScope>(program(), module());
  members_ = std::make_unique<Members>(program(), *facts_);
  if (is_finished()) Resolver(program(), module(), *facts_, index_).run();
}

void Snapshot::check() {
  if (!is_complete()) {
    // Declarations are missing, so a name that the checker does not find may exist: its errors are not reported.
    Diagnostics unsaid(parsed_->sources());
    checked_ = check_observed(program(), unsaid, *facts_);
    return;
  }
  checked_ = check_observed(program(), diagnostics_, *facts_);
  if (with_messages_ && is_finished() && !diagnostics_.has_errors()) warn(module(), program(), diagnostics_);
}

bool Snapshot::knows(const std::optional<FunctionList>& functions, bool with_messages) const {
  if (!functions_.has_value()) return true;
  return functions.has_value() && (with_messages_ || !with_messages) &&
         std::ranges::includes(*functions_, *functions);
}

}  // namespace dhpvm::compiler::lsp
