// SPDX-License-Identifier: Apache-2.0
// The base of the parts of the grammar: the state of one parse, and the helpers for writing rules.
//
// Recursive descent; operators by precedence climbing. GrammarParts has all parts, so each can call each. After an
// error a rule returns an error node; syntax_errors.h and recovery.h describe how parsing continues.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/parse/layout.h"
#include "compiler/parse/parser.h"
#include "compiler/parse/recovery.h"
#include "compiler/parse/syntax_errors.h"
#include "compiler/parse/token_cursor.h"
#include "compiler/parse/tree_builder.h"
#include "compiler/parse/type_scan.h"

namespace dhpvm::compiler {

struct GrammarParts;

struct ParserState {
  ParserState(const SourceManager& sources, std::uint32_t file, Diagnostics& diagnostics);

  TokenStream stream;
  std::unique_ptr<ast::Module> module;
  Layout layout;
  TokenCursor cursor;
  SyntaxErrors errors;
  Recovery recovery;
  TreeBuilder tree;
  bool in_arm = false;         // of a `match` statement: a comma ends it as a semicolon does
  bool arrow_closures = true;  // `x => e` can only be a closure from elsewhere; false in patterns
  std::uint32_t guard = 0;     // the token at which the condition of the last arm begins
};

class GrammarPart {
 public:
  explicit GrammarPart(GrammarParts& parts);

 protected:
  // One level of recursion; if `ok` is false, the limit is exceeded, and the file is given up.
  struct Level {
    explicit Level(GrammarPart& part) : tree(part.state_.tree), ok(tree.enter_level()) {}
    ~Level() { tree.leave_level(); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    TreeBuilder& tree;
    const bool ok;
  };

  // ---- Tokens.
  const Token& token(std::uint32_t ahead = 0) const { return cursor_.token(ahead); }
  TokenKind kind(std::uint32_t ahead = 0) const { return cursor_.kind(ahead); }
  bool at(TokenKind k) const { return cursor_.at(k); }
  bool at_word(std::string_view word, std::uint32_t ahead = 0) const { return cursor_.at_word(word, ahead); }
  std::string_view text(std::uint32_t ahead = 0) const { return cursor_.text(ahead); }
  SourceRange range(std::uint32_t ahead = 0) const { return cursor_.range(ahead); }
  void advance() { cursor_.advance(); }
  bool accept(TokenKind k) { return cursor_.accept(k); }
  bool expect(TokenKind k, std::string_view after);
  void expect_semicolon(std::string_view after);
  ast::Name take_name();  // the current token, whatever it is
  ast::Name expect_name(std::string_view what);
  std::string found() const;  // the current token, for messages
  bool starts_expression(std::uint32_t ahead = 0) const;
  std::uint32_t end_of_type() const { return TypeScan::end_of_type(cursor_, cursor_.position()); }

  // ---- Errors.
  template <typename... Args>
  Diagnostic& error(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return errors_.error(where, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  Diagnostic& slip(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return errors_.slip(where, format, std::forward<Args>(args)...);
  }
  bool in_panic() const { return errors_.in_panic(); }

  // ---- Nodes.
  template <typename Kind>
  auto* make(Kind kind, SourceRange range) {
    return state_.tree.make(kind, range);
  }
  template <typename Node>
  Node* finish(Node* node) {
    return state_.tree.finish(node);
  }
  ast::Expr* error_expr() { return make(ast::ExprKind::kError, cursor_.gap()); }
  ast::Stmt* error_stmt() { return make(ast::StmtKind::kError, cursor_.gap()); }
  ast::Type* error_type() { return make(ast::TypeKind::kError, cursor_.gap()); }

  GrammarParts& parts_;
  ParserState& state_;
  TokenCursor& cursor_;
  SyntaxErrors& errors_;
  Recovery& recovery_;
  ast::Module& module_;
};

}  // namespace dhpvm::compiler
