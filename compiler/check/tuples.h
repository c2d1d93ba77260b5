// SPDX-License-Identifier: Apache-2.0
// Tuples: `(a, b)`, and destructuring statements.
#pragma once

#include <functional>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class TupleChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E tuple_expr(const ast::Expr& expr, const Type* expected);
  // Declares the variables of an irrefutable pattern: `let (a, b) = value`.
  void declare(const ast::Pattern& pattern, E value, VariableKind kind, Body& out);
  // `(a, b) = value;`
  void assign(const ast::Stmt& stmt, Body& out);
};

}  // namespace dhpvm::compiler
