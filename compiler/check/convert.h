// SPDX-License-Identifier: Apache-2.0
// Implicit conversions (to nullable, to an interface), casts and type tests.
#pragma once

#include <string_view>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class Conversions : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E operand_value(const ast::Expr& expr, const Type* expected = nullptr);     // not void
  E value(const ast::Expr& expr, const Type* expected = nullptr);             // nor a fixed array
  E value_or_nothing(const ast::Expr& expr, const Type* expected = nullptr);  // nor a fixed array, but void
  E value_as(const ast::Expr& expr, const Type* target);                      // of type `target`
  void report_void(Range range);
  E coerce(E expr, const Type* target, Range range);
  bool can_coerce(const Type* from, const Type* to);
  bool may_be(const Type* from, const Type* to);
  bool gives_array(const Type* collection, const Type* array);
  E cast(const ast::Expr& expr);
  E is_type(const ast::Expr& expr, Condition* facts);
  // The common type of both branches of a conditional, which may be the expected one; null after a diagnostic.
  const Type* common_type(E& left, Range left_range, E& right, Range right_range, const Type* expected);

 private:
  void explain(Diagnostic& diagnostic, const Type* from, const Type* target, Range range);
  bool takes(const Type* type, std::string_view method, const Type* value);
  E usable(E checked, const ast::Expr& expr, const Type* expected);
};

}  // namespace dhpvm::compiler
