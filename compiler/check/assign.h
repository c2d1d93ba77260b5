// SPDX-License-Identifier: Apache-2.0
// Assignment: what may stand on the left, and `place op= value`.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class AssignmentChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void assign_stmt(const ast::Stmt& stmt, Body& out);
  void update_stmt(const ast::Stmt& stmt, Body& out);
  bool check_assignable(const Variable& variable, Range range);

 private:
  struct Place {
    E expr = nullptr;              // null when it is wrong
    Variable* variable = nullptr;  // assigned whole
    std::int64_t init_field = -1;  // field of `this` that `init` sets
  };
  Place place(const ast::Expr& expr, bool updated);
  Place field_place(E object, const ast::Name& name, Range range, bool updated);
  E stable_place(E place, Body& before);
  bool check_field(const Type* type, std::uint32_t index, Range range);
  bool mutable_root(const hir::Expr& place, Range range);
};

}  // namespace dhpvm::compiler
