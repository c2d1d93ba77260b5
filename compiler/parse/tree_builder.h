// SPDX-License-Identifier: Apache-2.0
// Makes the nodes of a module's syntax tree and limits its height to ast::kMaxDepth.
#pragma once

#include <cstdint>

#include "compiler/parse/ast.h"
#include "compiler/parse/syntax_errors.h"
#include "compiler/parse/token_cursor.h"

namespace dhpvm::compiler {

class TreeBuilder {
 public:
  TreeBuilder(TokenCursor& cursor, ast::Module& module, SyntaxErrors& errors)
      : cursor_(cursor), module_(module), errors_(errors) {}

  ast::Expr* make(ast::ExprKind kind, SourceRange range) { return made_in(module_.exprs, kind, range); }
  ast::Stmt* make(ast::StmtKind kind, SourceRange range) { return made_in(module_.stmts, kind, range); }
  ast::Type* make(ast::TypeKind kind, SourceRange range) { return made_in(module_.type_nodes, kind, range); }
  ast::Function& make_function(SourceRange begin);
  // Sets the end of the range and the height. A node that exceeds the limit becomes an error node without children.
  ast::Expr* finish(ast::Expr* expr);
  ast::Stmt* finish(ast::Stmt* stmt);
  ast::Type* finish(ast::Type* type);
  static std::uint32_t height(const ast::Function& function);

  // Enters a level of recursion. False beyond the limit; the file is then given up.
  bool enter_level();
  void leave_level() { --depth_; }

 private:
  template <typename Nodes, typename Kind>
  static typename Nodes::value_type* made_in(Nodes& nodes, Kind kind, SourceRange range) {
    auto& node = nodes.emplace_back();
    node.kind = kind;
    node.range = range;
    return &node;
  }
  void too_deep(SourceRange where);

  TokenCursor& cursor_;
  ast::Module& module_;
  SyntaxErrors& errors_;
  std::uint32_t depth_ = 0;
};

}  // namespace dhpvm::compiler
