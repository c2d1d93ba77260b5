// SPDX-License-Identifier: Apache-2.0
// Patterns: resolves their names, tests whether a value matches, and declares their variables.
#pragma once

#include <vector>

#include "compiler/check/body_part.h"
#include "compiler/check/coverage.h"

namespace dhpvm::compiler {

class PatternChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // Resolves `pattern` for a value of `type`. The result has kind kWrong after a diagnostic.
  CheckedPattern check(const ast::Pattern& pattern, const Type* type);
  // Whether `value` matches, null if it always does. The value may be evaluated repeatedly.
  E test(const CheckedPattern& pattern, E value);
  // Declares the variables of the pattern, which `value` matches.
  void bind(const CheckedPattern& pattern, E value, Body& out, VariableKind kind = VariableKind::kLet);
  // Declares the variables of a wrong pattern, to avoid further errors about them.
  void bind_wrong(const ast::Pattern& pattern);
  // The narrowed type of a value that matches, or null.
  static const Type* known_type(const CheckedPattern& pattern);
  // Combines alternatives, which declare the same variables, into one pattern; wrong after a diagnostic.
  CheckedPattern either(std::vector<CheckedPattern> alternatives, const Type* type, Range range);

 private:
  CheckedPattern check_present(const ast::Pattern& pattern, const Type* type);
  CheckedPattern check_let(const ast::Pattern& pattern, const Type* type);
  static bool takes_all(const CheckedPattern& pattern);
  bool resembles_other(std::string_view name, const Type* type);
  CheckedPattern check_name(const ast::Pattern& pattern, const Type* type);
  CheckedPattern check_case(const ast::Pattern& pattern, const Type* type);
  CheckedPattern check_tuple(const ast::Pattern& pattern, const Type* type);
  CheckedPattern check_object(const ast::Pattern& pattern, const Type* type, const Type* tested);
  CheckedPattern check_value(const ast::Pattern& pattern, const Type* type);
  void check_parts(const ast::Pattern& pattern, const CaseInfo& option, CheckedPattern& out);
  const hir::Expr* constant(const ast::Expr& expr, const Type* type);
  const Type* type_named(const ast::Pattern& pattern);
  E literal(const hir::Expr& constant, Range range);
  E part_of(const CheckedPattern& pattern, std::size_t index, E value);
  E value_of(const CheckedPattern& variable, const CheckedPattern& pattern, E value);
};

}  // namespace dhpvm::compiler
