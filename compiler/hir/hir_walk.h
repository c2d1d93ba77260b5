// SPDX-License-Identifier: Apache-2.0
// Visits every statement and expression of a piece of the checked program, outer before inner. A visitor that
// gives false keeps the walk from going into the node.
#pragma once

#include <vector>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler::hir {

template <typename OnExpr, typename OnStmt>
struct Walker {
  const OnExpr& on_expr;
  const OnStmt& on_stmt;

  void expr(const Expr* node) const {
    if (node == nullptr || !on_expr(*node)) return;
    list(node->statements);
    for (const Expr* operand : node->operands) expr(operand);
    for (const Expr* argument : node->arguments) expr(argument);
  }

  void stmt(const Stmt& node) const {
    if (!on_stmt(node)) return;
    expr(node.value);
    expr(node.limit);
    expr(node.step);
    expr(node.place);
    if (node.loop != nullptr) {
      for (const auto& dimension : node.loop->dimensions) {
        expr(dimension.low);
        expr(dimension.high);
      }
      for (const auto& capture : node.loop->captures) expr(capture.value);
      list(node.loop->body);
    }
    list(node.body);
    list(node.otherwise);
    expr(node.close);
  }

  void list(const std::vector<Stmt*>& statements) const {
    for (const Stmt* node : statements) stmt(*node);
  }
};

template <typename OnExpr, typename OnStmt>
void walk(const std::vector<Stmt*>& statements, const OnExpr& on_expr, const OnStmt& on_stmt) {
  Walker<OnExpr, OnStmt>{on_expr, on_stmt}.list(statements);
}

}  // namespace dhpvm::compiler::hir
