// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/syntax_errors.h"

namespace dhpvm::compiler {

Diagnostic& SyntaxErrors::report(SourceRange where, std::string message, Reading reading) {
  const bool panics = reading == Reading::kPanics;
  const bool reported_by_lexer = (panics && cursor_.at(TokenKind::kError)) || cursor_.after_broken_string();
  const bool say = !panic_ && !given_up_ && !reported_by_lexer;
  if (panics) {
    panic_ = true;
    if (!in_body_) module_.is_complete = false;
  }
  if (say) return diagnostics_.add(Severity::kError, where, std::move(message));
  unsaid_ = {};
  return unsaid_;
}

void SyntaxErrors::give_up() {
  module_.is_complete = false;
  given_up_ = true;
}

}  // namespace dhpvm::compiler
