// SPDX-License-Identifier: Apache-2.0
// Visits the operands of each node of the checked program in the order of evaluation; no other code lists them. Also: a
// walk over all nodes below some statements, and which nodes write elements.
#pragma once

#include <vector>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler::hir {

// Absent parts are left out. Visitors may change nodes.
template <typename OnExpr, typename OnStmt>
void for_each_child(const Expr& node, const OnExpr& on_expr, const OnStmt& on_stmt) {
  for (Stmt* statement : node.statements) on_stmt(*statement);
  for (Expr* operand : node.operands) on_expr(*operand);
  for (Expr* argument : node.arguments) on_expr(*argument);
}

template <typename OnExpr, typename OnStmt>
void for_each_child(const Stmt& node, const OnExpr& on_expr, const OnStmt& on_stmt) {
  for (Expr* part : {node.place, node.value, node.limit, node.step}) {
    if (part != nullptr) on_expr(*part);
  }
  if (node.loop != nullptr) {
    for (const auto& dimension : node.loop->dimensions) {
      on_expr(*dimension.low);
      on_expr(*dimension.high);
    }
    for (const auto& capture : node.loop->captures) on_expr(*capture.value);
    for (Stmt* inner : node.loop->body) on_stmt(*inner);
  }
  for (Stmt* inner : node.body) on_stmt(*inner);
  for (Stmt* inner : node.otherwise) on_stmt(*inner);
  if (node.close != nullptr) on_expr(*node.close);
}

// Pre-order. A visitor that returns false skips the node's children.
template <typename OnExpr, typename OnStmt>
struct Walker {
  const OnExpr& on_expr;
  const OnStmt& on_stmt;

  void expr(const Expr& node) const {
    if (on_expr(node)) children(node);
  }
  void stmt(const Stmt& node) const {
    if (on_stmt(node)) children(node);
  }
  template <typename Node>
  void children(const Node& node) const {
    for_each_child(
        node, [this](const Expr& inner) { expr(inner); }, [this](const Stmt& inner) { stmt(inner); });
  }
};

template <typename OnExpr, typename OnStmt>
void walk(const std::vector<Stmt*>& statements, const OnExpr& on_expr, const OnStmt& on_stmt) {
  for (const Stmt* node : statements) Walker<OnExpr, OnStmt>{on_expr, on_stmt}.stmt(*node);
}

// Whether the node itself, not counting its callees, writes an element of an array.
inline bool writes_element(const Expr& node) { return node.kind == ExprKind::kAtomic; }
inline bool writes_element(const Stmt& node) {
  const Expr* place = node.place;
  while (place != nullptr && place->kind == ExprKind::kField) place = place->operands[0];
  return place != nullptr && place->kind == ExprKind::kIndex;
}

}  // namespace dhpvm::compiler::hir
