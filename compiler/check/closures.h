// SPDX-License-Identifier: Apache-2.0
// Closures: functions of their own, with what they capture.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ClosureChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // `hints`: types for parameters without one, null where unknown; `result_hint`: likewise.
  E closure(const ast::Expr& expr, const std::vector<const Type*>& hints, const Type* result_hint);
  E closure_expr(const ast::Expr& expr, const Type* expected);
  // Whether a variable is declared with a closure that names it: it can call itself.
  static bool names_itself(const ast::Stmt& stmt);
  // Declares such a variable, of the type written or that of the closure.
  void declare_with_itself(const ast::Stmt& stmt, const Type* type, VariableKind kind, Body& out);

 private:
  const Type* written_type(const ast::Expr& expr);
  bool closure_result(const ast::Expr& result, hir::Function& function);
};

}  // namespace dhpvm::compiler
