// SPDX-License-Identifier: Apache-2.0
// while, for over ranges, for over collections.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class LoopChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void while_stmt(const ast::Stmt& stmt, Body& out);
  void for_range(const ast::Stmt& stmt, Body& out);
  void for_each(const ast::Stmt& stmt, Body& out);
  bool range_bounds(const ast::Expr& low, const ast::Expr& high, E& low_value, E& high_value);

 private:
  void loop_body(const ast::Stmt& body, Flow& left, Body& out);
  E count_of(E collection, Range range);
  E element_of(E collection, E index, Range range);
  bool is_assigned_in(const ast::Expr& name, Range loop);
  E iterated(E collection, const ast::Stmt& loop);
  void report_not_iterable(const Type* type, Range range);
};

}  // namespace dhpvm::compiler
