// SPDX-License-Identifier: Apache-2.0
// Reports mistakes of syntax, each once. The first error of a statement begins a panic, which silences what would
// only follow from it until reading goes on at a place that recovery has found.
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

  // A mistake that what follows cannot be read after.
  template <typename... Args>
  Diagnostic& error(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return report(where, fmt::format(format, std::forward<Args>(args)...), Reading::kPanics);
  }
  // A mistake whose meaning is clear (`x++`, a missing `;`): reading goes on.
  template <typename... Args>
  Diagnostic& slip(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return report(where, fmt::format(format, std::forward<Args>(args)...), Reading::kContinues);
  }

  bool in_panic() const { return panic_; }
  void end_panic() { panic_ = false; }
  // For text inside a text: its mistakes end with it.
  void restore_panic(bool before) { panic_ = before; }

  // After this nothing more is said about the file.
  void give_up();
  bool has_given_up() const { return given_up_; }

  // Whether the tokens now read are the body of a function: errors there hide no declaration. Returns what held
  // before.
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
  Diagnostic unsaid_;  // takes what is not reported
};

}  // namespace dhpvm::compiler
