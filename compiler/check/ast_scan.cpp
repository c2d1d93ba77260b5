// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/ast_scan.h"

namespace dhpvm::compiler {

namespace {

class Scan {
 public:
  Scan(NameSet& names, bool closures_only) : names_(names), closures_only_(closures_only) {}

  void expr(const ast::Expr* node) {
    if (node == nullptr) return;
    for (const ast::Expr* operand : node->operands) expr(operand);
    for (const ast::Argument& argument : node->arguments) expr(argument.value);
    for (const ast::FormatPart& part : node->parts) expr(part.value);
    arms(node->arms);
    if (node->closure != nullptr) {
      ++closures_;
      stmt(node->closure->body);
      expr(node->closure->expression);
      --closures_;
    }
  }

  void stmt(const ast::Stmt* node) {
    if (node == nullptr) return;
    if (node->kind == ast::StmtKind::kAssign || node->kind == ast::StmtKind::kUpdate) {
      if (node->place->kind == ast::ExprKind::kName && (closures_ != 0 || !closures_only_)) {
        names_.insert(node->place->name.text);
      }
    }
    expr(node->place);
    expr(node->value);
    expr(node->limit);
    expr(node->step);
    for (const ast::Stmt* inner : node->body) stmt(inner);
    stmt(node->otherwise);
    arms(node->arms);
    if (node->parallel != nullptr) {
      for (const ast::Dimension& dimension : node->parallel->dimensions) {
        expr(dimension.low);
        expr(dimension.high);
      }
    }
  }

 private:
  void arms(const std::vector<ast::Arm>& list) {
    for (const ast::Arm& arm : list) {
      expr(arm.value);
      stmt(arm.body);
    }
  }

  NameSet& names_;
  bool closures_only_;
  unsigned closures_ = 0;
};

}  // namespace

void collect_assigned(const ast::Stmt& stmt, NameSet& names) { Scan(names, false).stmt(&stmt); }
void collect_assigned_in_closures(const ast::Stmt& stmt, NameSet& names) { Scan(names, true).stmt(&stmt); }
void collect_assigned_in_closures(const ast::Expr& expr, NameSet& names) { Scan(names, true).expr(&expr); }

}  // namespace dhpvm::compiler
