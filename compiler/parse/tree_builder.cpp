// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/tree_builder.h"

#include <algorithm>

#include "compiler/parse/ast_children.h"

namespace dhpvm::compiler {

namespace {

// The height of the highest part.
template <typename Node>
std::uint32_t height_inside(const Node& node) {
  std::uint32_t highest = 0;
  const auto raise = [&](std::uint32_t height) { highest = std::max(highest, height); };
  const ast::Overloaded visit{[&](const auto& child) { raise(child.height); },
                              [&](const ast::Arm& arm) { raise(height_inside(arm)); },
                              [&](const ast::Function& closure) { raise(height_inside(closure)); }};
  ast::for_each_child(node, visit);
  return highest;
}

}  // namespace

ast::Function& TreeBuilder::make_function(SourceRange begin) {
  ast::Function& node = module_.function_nodes.emplace_back();
  node.range = begin;
  return node;
}

std::uint32_t TreeBuilder::height(const ast::Function& function) { return height_inside(function); }

ast::Expr* TreeBuilder::finish(ast::Expr* expr) {
  expr->height = height_inside(*expr) + 1;
  expr->range = cursor_.since(expr->range);
  if (expr->height <= ast::kMaxDepth) return expr;
  too_deep(expr->operator_range.end > 0 ? expr->operator_range : expr->range);
  return make(ast::ExprKind::kError, cursor_.gap());
}

ast::Stmt* TreeBuilder::finish(ast::Stmt* stmt) {
  stmt->height = height_inside(*stmt) + 1;
  stmt->range = cursor_.since(stmt->range);
  if (stmt->height <= ast::kMaxDepth) return stmt;
  too_deep(stmt->range);
  return make(ast::StmtKind::kError, cursor_.gap());
}

ast::Type* TreeBuilder::finish(ast::Type* type) {
  type->height = height_inside(*type) + 1;
  type->range = cursor_.since(type->range);
  if (type->height <= ast::kMaxDepth) return type;
  too_deep(type->range);
  return make(ast::TypeKind::kError, cursor_.gap());
}

bool TreeBuilder::enter_level() {
  if (++depth_ <= ast::kMaxDepth) return true;
  too_deep(cursor_.range());
  return false;
}

void TreeBuilder::too_deep(SourceRange where) {
  if (errors_.has_given_up()) return;
  errors_.slip(where, "this is nested more than {} levels deep", ast::kMaxDepth)
      .help("give inner parts names: variables for expressions, functions for blocks");
  // Deeper levels would report this again, and outer ones would report brackets that are not parsed.
  errors_.give_up();
  cursor_.jump_to_end();
}

}  // namespace dhpvm::compiler
