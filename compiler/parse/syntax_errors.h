// SPDX-License-Identifier: Apache-2.0
// Reports each syntax error once. The first error of a statement starts panic mode, which suppresses errors that only
// follow from it until recovery finds a place to continue.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "compiler/parse/ast.h"
#include "compiler/parse/token_cursor.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

class SyntaxErrors {
 public:
  SyntaxErrors(const TokenCursor& cursor, ast::Module& module, Diagnostics& diagnostics)
      : cursor_(cursor), module_(module), diagnostics_(diagnostics) {}

  // An error after which parsing needs recovery.
  template <typename... Args>
  Diagnostic& error(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return report(where, fmt::format(format, std::forward<Args>(args)...), Reading::kPanics);
  }
  // An error whose intent is clear (`x++`, a missing `;`): parsing continues.
  template <typename... Args>
  Diagnostic& slip(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return report(where, fmt::format(format, std::forward<Args>(args)...), Reading::kContinues);
  }

  bool in_panic() const { return panic_; }
  void end_panic() { panic_ = false; }
  // For nested text, whose errors do not affect the rest.
  void restore_panic(bool before) { panic_ = before; }

  // Suppresses all further errors of the file.
  void give_up();
  bool has_given_up() const { return given_up_; }

  // Whether the current tokens are the body of a function: errors there hide no declaration. Returns the previous
  // setting.
  bool set_in_body(bool in_body) { return std::exchange(in_body_, in_body); }

 private:
  enum class Reading : std::uint8_t { kContinues, kPanics };
  Diagnostic& report(SourceRange where, std::string message, Reading reading);

  const TokenCursor& cursor_;
  ast::Module& module_;
  Diagnostics& diagnostics_;
  bool panic_ = false;
  bool given_up_ = false;
  bool in_body_ = false;
  Diagnostic unsaid_;  // receives suppressed errors
};

}  // namespace dhpvm::compiler
