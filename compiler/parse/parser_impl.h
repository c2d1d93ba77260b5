// SPDX-License-Identifier: Apache-2.0
// The parser's state and helpers, shared by the files of the grammar. Include only there.
//
// Recursive descent; operators by precedence climbing. How it recovers: the first error of a statement sets
// `panic_`, which silences what would follow from it; parsing functions return error nodes until the loop
// over statements (or declarations, or members) is reached, which skips to where the next one seems to begin
// and goes on. Slips whose meaning is clear (`x++`, a missing `;`) are reported by `slip` and do not panic.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/parse/parser.h"
#include "compiler/parse/token.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

class Parser {
 public:
  Parser(const SourceManager& sources, std::uint32_t file, const ParseOptions& options,
         Diagnostics& diagnostics);

  std::unique_ptr<ast::Module> run();

 private:
  // Whether a function declaration has a body: only those of interfaces have none.
  enum class Body : std::uint8_t { kRequired, kAbsent };
  // In `x as T < y` the `<` is an operator unless it reads as type arguments to its `>`.
  enum class TypePlace : std::uint8_t { kDeclaration, kExpression };

  // Counts the levels of recursion; `ok` is false beyond the limit, and the file is given up.
  struct Level {
    explicit Level(Parser& p) : parser(p), ok(++p.depth_ <= ast::kMaxDepth) {
      if (!ok) p.too_deep(p.range());
    }
    ~Level() { --parser.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Parser& parser;
    bool ok;
  };

  // ---- parser.cpp: tokens
  const Token& token(std::uint32_t ahead = 0) const;
  TokenKind kind(std::uint32_t ahead = 0) const { return token(ahead).kind; }
  bool at(TokenKind k) const { return kind() == k; }
  bool at_word(std::string_view word, std::uint32_t ahead = 0) const;
  std::string_view text(std::uint32_t ahead = 0) const;
  SourceRange range(std::uint32_t ahead = 0) const;
  bool touches_next() const;  // no blank between this token and the next
  SourceRange previous() const { return {file_, previous_begin_, previous_end_}; }
  SourceRange since(SourceRange begin) const {
    return {file_, begin.begin, std::max(begin.end, previous_end_)};
  }
  // The empty place just behind the last token, where something is missing.
  SourceRange gap() const { return {file_, previous_end_, previous_end_}; }
  void advance();
  bool accept(TokenKind k);
  bool accept_greater();  // `>`, or the first half of `>>`, `>=`, `>>=`
  bool expect(TokenKind k, std::string_view after);
  void expect_semicolon(std::string_view after);
  std::string_view rest_of_line(std::uint32_t offset) const;
  ast::Name take_name();  // the current token, whatever it is
  ast::Name expect_name(std::string_view what);
  std::string found() const;  // the current token, for messages

  // ---- parser.cpp: errors
  template <typename... Args>
  Diagnostic& error(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return report(where, fmt::format(format, std::forward<Args>(args)...), true);
  }
  template <typename... Args>
  Diagnostic& slip(SourceRange where, fmt::format_string<Args...> format, Args&&... args) {
    return report(where, fmt::format(format, std::forward<Args>(args)...), false);
  }
  Diagnostic& report(SourceRange where, std::string message, bool panic);
  bool after_broken_string() const;
  void too_deep(SourceRange where);
  bool declaration_at_margin() const;  // a declaration at the start of a line without indentation
  bool margin_declaration(const Token& t, TokenKind next) const;
  void match_brackets();
  void skip_balanced();  // one token, or a bracketed group
  void synchronise_statement();
  void synchronise_declaration();
  bool recover_to_brace();  // skips to a `{` on this line; true clears the panic

  // ---- parser.cpp: nodes
  ast::Expr* make(ast::ExprKind kind, SourceRange range);
  ast::Stmt* make(ast::StmtKind kind, SourceRange range);
  ast::Type* make(ast::TypeKind kind, SourceRange range);
  // Sets the range's end and the height. What is too high becomes an error node without children.
  ast::Expr* finish(ast::Expr* expr);
  ast::Stmt* finish(ast::Stmt* stmt);
  ast::Type* finish(ast::Type* type);
  ast::Expr* error_expr() { return make(ast::ExprKind::kError, gap()); }
  ast::Stmt* error_stmt() { return make(ast::StmtKind::kError, gap()); }
  ast::Type* error_type() { return make(ast::TypeKind::kError, gap()); }
  static std::uint32_t height(const ast::Function& function);

  // ---- types.cpp
  ast::Type* type(TypePlace place = TypePlace::kDeclaration);
  ast::Type* base_type(TypePlace place);
  ast::Type* named_type(TypePlace place);
  ast::Type* bracket_type();
  ast::Type* function_type();
  std::vector<ast::Type*> type_arguments();
  std::vector<ast::TypeParameter> type_parameters();
  bool type_without_colon() const;
  bool is_type_word(const Token& t) const;
  // Look-ahead without effect: where a type that starts at token `index` ends, or kNoType.
  static constexpr std::uint32_t kNoType = UINT32_MAX;
  struct Scan {
    std::uint32_t index = 0;
    std::uint32_t halves = 0;  // `>` taken off a `>>` at index
    std::uint32_t budget = 0;
  };
  bool scan_type(Scan& scan) const;
  bool scan_type_arguments(Scan& scan) const;
  bool scan_greater(Scan& scan) const;
  TokenKind scan_kind(const Scan& scan) const;
  std::uint32_t end_of_type(std::uint32_t index) const;
  std::uint32_t end_of_type_arguments(std::uint32_t index) const;

  // ---- expressions.cpp
  ast::Expr* expression();
  ast::Expr* condition(std::string_view after);  // also says that `=` is not `==`
  ast::Expr* binary(int lowest);
  ast::Expr* ternary(ast::Expr* condition);
  bool binary_operator(ast::BinaryOp& op, int& precedence, SourceRange& where);
  ast::Expr* unary();
  ast::Expr* cast();
  ast::Expr* postfix();
  ast::Expr* member(ast::Expr* object, bool safe);
  ast::Expr* index(ast::Expr* object);
  ast::Expr* call(ast::Expr* callee);
  ast::Expr* coalesced();
  bool step_habit(ast::Expr*& expr);  // x++, x--
  ast::Expr* membership();
  ast::Expr* foreign_cast(ast::Expr* expr);
  void word_range(ast::Stmt* node);
  bool power_habit(ast::Expr*& expr);  // x ** y
  bool null_test_habit();
  std::vector<ast::Argument> arguments();
  bool starts_expression(std::uint32_t ahead = 0) const;

  // ---- primary.cpp
  ast::Expr* primary();
  ast::Expr* not_an_expression();
  ast::Expr* literal();
  ast::Expr* parenthesised();
  ast::Expr* inner_expression();  // inside brackets, where `x =>` cannot be a pattern
  ast::Expr* bracketed();
  ast::Expr* closure();
  ast::Expr* if_expression();
  ast::Expr* branch(std::string_view what);
  ast::Expr* format_string();
  void format_hole(ast::FormatPart& part);
  void skip_to_hole_end();

  // ---- match.cpp
  ast::Expr* match_expression();
  ast::Stmt* match_statement();
  template <typename ParseBody>
  std::vector<ast::Arm> arms(ParseBody body);
  std::vector<ast::Pattern> patterns();
  ast::Pattern pattern();
  void arm_arrow();

  // ---- statements.cpp
  ast::Stmt* statement();
  ast::Stmt* statement_by_word();
  ast::Stmt* block();
  ast::Stmt* body(std::string_view what);
  void block_contents(ast::Stmt* block, SourceRange open);
  ast::Stmt* let();
  ast::Stmt* variable(ast::StmtKind kind, SourceRange begin, ast::Type* known_type = nullptr);
  ast::Stmt* if_statement();
  ast::Stmt* while_statement();
  ast::Stmt* return_statement();
  ast::Stmt* jump(ast::StmtKind kind);
  ast::Stmt* use();
  ast::Stmt* expression_statement();
  ast::Stmt* assignment(ast::Expr* place);
  ast::Stmt* foreign_declaration(std::uint32_t name_index);
  ast::Stmt* misplaced_declaration();
  bool update_operator(ast::BinaryOp& op) const;

  // ---- loops.cpp
  ast::Stmt* for_statement();
  ast::Stmt* foreign_for();
  ast::Expr* range_end(bool& inclusive);  // after the `..` or `..=`
  ast::Stmt* parallel();
  ast::Stmt* parallel_for(SourceRange begin, std::vector<ast::Hint> hints);
  std::vector<ast::Hint> hints();
  void dimensions(ast::ParallelFor& loop);
  void reductions(ast::ParallelFor& loop);
  bool reduction_op(ast::ReductionOp& op);
  void expect_in(std::string_view name);

  // ---- declarations.cpp
  void declaration();
  void foreign_top_level();
  void import();
  void constant();
  ast::Function* function(Body expected);
  ast::Function* function_after_word(ast::Function& node, Body expected);
  ast::Function* native_function(ast::Linkage linkage);
  void signature(ast::Function& function);
  void result_type(ast::Function& function);
  void function_body(ast::Function& function, Body expected);
  std::vector<ast::Parameter> parameters(bool types_required);
  bool parameter(std::vector<ast::Parameter>& list, bool types_required);
  void skip_modifiers();

  // ---- type_declarations.cpp
  void type_declaration();
  void base_types(ast::TypeDecl& decl);
  static Body body_of_methods(ast::TypeDeclKind kind);
  void member_declaration(ast::TypeDecl& decl);
  bool foreign_member(ast::TypeDecl& decl);
  void init(ast::TypeDecl& decl);
  void field(ast::TypeDecl& decl, bool immutable);

  std::uint32_t file_;
  std::string_view source_;
  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  TokenStream stream_;
  std::unique_ptr<ast::Module> module_;

  std::vector<std::uint32_t> partner_;  // of each opening bracket, the token that closes it; or 0
  std::uint32_t pos_ = 0;
  Token split_;            // what is left of a `>>` whose first half was taken
  bool is_split_ = false;  // then split_ stands for tokens[pos_]
  std::uint32_t previous_begin_ = 0;
  std::uint32_t previous_end_ = 0;
  bool panic_ = false;
  bool given_up_ = false;       // nested too deeply: nothing more is read or said
  bool arrow_closures_ = true;  // `x => e` can only be a closure from elsewhere; false in patterns
  bool in_body_ = false;        // of a function: what goes wrong there hides no declaration
  std::uint32_t depth_ = 0;
  Diagnostic unsaid_;  // takes what is not reported
};

}  // namespace dhpvm::compiler
