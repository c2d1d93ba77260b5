// SPDX-License-Identifier: Apache-2.0
// Matches arguments with parameters; fills in defaults.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ArgumentMatching : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // For each parameter the argument's expression, null if its default applies. False after a diagnostic.
  bool match_arguments(const Callee& callee, const ast::Expr& call, std::vector<const ast::Expr*>& matched);
  // One value per parameter. `ready` holds arguments that inference has checked already. If named arguments are in
  // another order than the parameters, `before` receives the statements that evaluate them in the order of the source.
  bool arguments(const Callee& callee, const ast::Expr& call, const std::vector<E>* ready, Body& before,
                 std::vector<E>& values);
  E fallback_value(const ast::Expr& expr, const Type* type, const TypeContext& context);
  void check_all(const ast::Expr& call);  // finds mistakes inside the arguments of a wrong call
  // Adds what to write for such arguments in other languages, where the library has another form: "/2", "(reverse: )".
  void help_with_arguments(Diagnostic& diagnostic, const Callee& callee, std::string_view arguments);
  bool expect_arguments(const ast::Expr& call, std::size_t least, std::size_t most, std::string_view usage);
};

}  // namespace dhpvm::compiler
