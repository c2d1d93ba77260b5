// SPDX-License-Identifier: Apache-2.0
// `match`, as a statement and as an expression: a chain of tests of one value.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class MatchChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void match_stmt(const ast::Stmt& stmt, Body& out);
  E match_expr(const ast::Expr& expr, const Type* expected);

 private:
  struct Subject {
    E value = nullptr;             // may be evaluated again and again
    Variable* variable = nullptr;  // when it is a variable that can be narrowed
    const Type* type = nullptr;
  };
  struct Test {
    E condition = nullptr;  // null: always true
    std::vector<Fact> facts;
    const Type* bound_type = nullptr;
    const ast::Name* binding = nullptr;
  };
  Subject subject_of(const ast::Expr& expr, Body& out);
  Test test_pattern(const ast::Pattern& pattern, const Subject& subject);
  Test test_arm(const ast::Arm& arm, const Subject& subject);
  E test_value(const ast::Pattern& pattern, E subject);
  void bind_pattern(const Test& test, const Subject& subject, Body& out);
  const Type* pattern_type(const ast::Pattern& pattern);
  bool covers_all(const std::vector<ast::Arm>& arms, const Subject& subject);
  bool too_many_arms(const std::vector<ast::Arm>& arms, Range range);
  void exclude_null(const ast::Arm& arm, const Subject& subject);
};

}  // namespace dhpvm::compiler
