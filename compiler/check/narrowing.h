// SPDX-License-Identifier: Apache-2.0
// Conditions, and the narrowing of variables and fields that they imply.
//
// Only variables that no other code can change are narrowed: not those that an inner closure assigns, and, inside a
// closure, not those that it shares by reference. Fields are narrowed until code runs that may assign them
// (`FieldNarrowing`).
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class Narrowing : public BodyPart {
 public:
  using BodyPart::BodyPart;

  Condition condition(const ast::Expr& expr);
  void null_test(const ast::Expr& tested, const hir::Expr& value, bool equal, Condition& condition);
  Variable* narrowable(const ast::Expr& expr);
  const Type* narrowed_type(const Variable* variable) const;
  E refine(E value, const Type* narrowed, Range range);
  void learn(const std::vector<Fact>& facts);
  void forget_assigned_in(Range loop);
  void explain_null(Diagnostic& diagnostic, Range object, std::string_view otherwise);
  void report_null_member(const Type* type, const ast::Name& name, Range object, std::string_view call);
  void assigned(Variable* variable, const Type* value_type);
  static Flow merge(const Flow& a, const Flow& b);

 private:
  void forget(const Variable* variable);
};

}  // namespace dhpvm::compiler
