// SPDX-License-Identifier: Apache-2.0
// Closures and their captures.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ClosureChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // The types that the context of a closure expects; null where unknown.
  struct Hints {
    std::vector<const Type*> parameters;  // for those without a type
    const Type* result = nullptr;
    bool gives_result = false;  // `T!` of unknown T
  };
  E closure(const ast::Expr& expr, const Hints& hints);
  E closure_expr(const ast::Expr& expr, const Type* expected);
  E of_method(E object, std::string_view method, Range range);
  // Whether a variable is declared with a closure that refers to it, so that it may call itself.
  static bool names_itself(const ast::Stmt& stmt);
  // Declares such a variable, with the declared type or that of the closure.
  void declare_with_itself(const ast::Stmt& stmt, const Type* type, VariableKind kind, Body& out);

 private:
  const Type* written_type(const ast::Expr& expr);
  bool closure_result(const ast::Expr& result, hir::Function& function);
  void closure_body(const ast::Expr& expr, hir::Function& function);
};

}  // namespace dhpvm::compiler
