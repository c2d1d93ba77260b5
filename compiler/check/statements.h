// SPDX-License-Identifier: Apache-2.0
// Statements: blocks, variables, conditions, jumps, scoped use.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class StatementChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  bool end_of_body(const Type* result, Range range, Body& out);
  E jump_expr(const ast::Expr& expr);
  void statements(const std::vector<ast::Stmt*>& list, Body& out);
  void block(const ast::Stmt& stmt, Body& out);

 private:
  void statement(const ast::Stmt& stmt, Body& out);
  void variable(const ast::Stmt& stmt, Body& out);
  void if_stmt(const ast::Stmt& stmt, Body& out);
  void return_stmt(const ast::Stmt& stmt, Body& out);
  bool find_loop(const ast::Name& label, unsigned& outwards);
  void jump(const ast::Stmt& stmt, Body& out);
  void use_stmt(const ast::Stmt& stmt, const std::vector<ast::Stmt*>& list, std::size_t next, Body& out);
};

}  // namespace dhpvm::compiler
