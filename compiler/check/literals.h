// SPDX-License-Identifier: Apache-2.0
// Literals of numbers, which take the type that their context expects.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class LiteralChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E int_literal(const ast::Expr& expr, bool negative, const Type* expected);
  E float_literal(const ast::Expr& expr, const Type* expected);
  static bool is_flexible(const ast::Expr& expr);
  // Whether it is an array of such literals, whose element type comes from the literals or from the context.
  static bool is_flexible_array(const ast::Expr& expr);
  static bool has_float_literal(const ast::Expr& expr);

 private:
  const Type* suffix_type(std::string_view suffix);
};

}  // namespace dhpvm::compiler
