// SPDX-License-Identifier: Apache-2.0
// `match`, as a statement and as an expression: a chain of tests of one value.
#pragma once

#include <vector>

#include "compiler/check/body_part.h"
#include "compiler/check/coverage.h"

namespace dhpvm::compiler {

class MatchChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void match_stmt(const ast::Stmt& stmt, Body& out);
  // A match expression whose value is not used.
  void match_effect(const ast::Expr& expr, Body& out);
  E match_expr(const ast::Expr& expr, const Type* expected);

 private:
  struct Subject {
    E value = nullptr;             // may be evaluated repeatedly
    Variable* variable = nullptr;  // the variable to narrow, if the value is one
    const Type* type = nullptr;
  };
  struct Test {
    bool good = true;
    E condition = nullptr;  // null: always true
    std::vector<Fact> facts;
    CheckedPattern pattern;
  };
  void statement(const ast::Expr& value, const std::vector<ast::Arm>& arms, Range range, Body& out);
  Subject subject_of(const ast::Expr& expr, const std::vector<ast::Arm>& arms, Body& out);
  Test test_arm(const ast::Arm& arm, const Subject& subject, Coverage& coverage);
  void add_guard(const ast::Arm& arm, const Subject& subject, Test& test);
  void bind_pattern(const ast::Arm& arm, const Test& test, const Subject& subject, Body& out);
  bool check_coverage(Coverage& coverage, const Subject& subject, Range range);
  bool too_many_arms(const std::vector<ast::Arm>& arms, Range range);
  void exclude_null(const ast::Arm& arm, const Subject& subject);
  static void exclude_nulls(CheckedPattern& whole, CheckedPattern& part, Coverage& coverage);
  bool must_cover(const Type* type);
};

}  // namespace dhpvm::compiler
