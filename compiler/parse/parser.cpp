// SPDX-License-Identifier: Apache-2.0
// The parser's foundation: tokens, errors and recovery, nodes. The grammar is in the files beside this one.
#include "compiler/parse/parser.h"

#include <algorithm>

#include "compiler/parse/ast_children.h"
#include "compiler/parse/lexer.h"
#include "compiler/parse/parser_impl.h"

namespace dhpvm::compiler {

std::unique_ptr<ast::Module> parse(const SourceManager& sources, std::uint32_t file,
                                   const ParseOptions& options, Diagnostics& diagnostics) {
  return Parser(sources, file, options, diagnostics).run();
}

Parser::Parser(const SourceManager& sources, std::uint32_t file, const ParseOptions& options,
               Diagnostics& diagnostics)
    : file_(file),
      source_(sources.file(file).text()),
      options_(options),
      diagnostics_(diagnostics),
      stream_(lex(sources, file, diagnostics)),
      module_(std::make_unique<ast::Module>()) {
  match_brackets();
}

std::unique_ptr<ast::Module> Parser::run() {
  module_->path = options_.module_path;
  module_->file = file_;
  module_->is_stdlib = options_.is_stdlib;
  while (!at(TokenKind::kEnd)) {
    const std::uint32_t before = pos_;
    declaration();
    if (panic_) synchronise_declaration();
    if (pos_ == before) advance();
  }
  return std::move(module_);
}

// ----------------------------------------------------------------------------------------------- tokens

const Token& Parser::token(std::uint32_t ahead) const {
  if (ahead == 0 && is_split_) return split_;
  const std::size_t index = std::min<std::size_t>(std::size_t{pos_} + ahead, stream_.tokens.size() - 1);
  return stream_.tokens[index];
}

std::string_view Parser::text(std::uint32_t ahead) const {
  const Token& t = token(ahead);
  return source_.substr(t.begin, t.end - t.begin);
}

bool Parser::at_word(std::string_view word, std::uint32_t ahead) const {
  return kind(ahead) == TokenKind::kIdentifier && text(ahead) == word;
}

SourceRange Parser::range(std::uint32_t ahead) const {
  const Token& t = token(ahead);
  return {file_, t.begin, t.end};
}

bool Parser::touches_next() const { return token().end == token(1).begin; }

void Parser::advance() {
  previous_begin_ = token().begin;
  previous_end_ = token().end;
  is_split_ = false;
  if (pos_ + 1 < stream_.tokens.size()) ++pos_;
}

bool Parser::accept(TokenKind k) {
  if (!at(k)) return false;
  advance();
  return true;
}

bool Parser::accept_greater() {
  TokenKind rest = TokenKind::kEnd;
  switch (kind()) {
    case TokenKind::kGreater: advance(); return true;
    case TokenKind::kShiftRight: rest = TokenKind::kGreater; break;
    case TokenKind::kGreaterEqual: rest = TokenKind::kEqual; break;
    case TokenKind::kShiftRightEqual: rest = TokenKind::kGreaterEqual; break;
    default: return false;
  }
  Token second = token();
  previous_begin_ = second.begin;
  previous_end_ = ++second.begin;
  second.kind = rest;
  second.first_on_line = false;
  split_ = second;
  is_split_ = true;
  return true;
}

bool Parser::expect(TokenKind k, std::string_view after) {
  if (accept(k)) return true;
  error(range(), "expected {} {}, found {}", describe(k), after, found());
  return false;
}

// What follows `offset` on its line, without blanks around it.
std::string_view Parser::rest_of_line(std::uint32_t offset) const {
  std::string_view rest = source_.substr(offset);
  rest = rest.substr(0, rest.find_first_of("\r\n"));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.substr(0, rest.find_last_not_of(" \t") + 1);
}

void Parser::expect_semicolon(std::string_view after) {
  if (panic_ || accept(TokenKind::kSemicolon)) return;  // in a panic it is where reading goes on
  const bool simply_missing = token().first_on_line || at(TokenKind::kRightBrace) || at(TokenKind::kEnd);
  if (simply_missing) {
    auto& problem = slip(gap(), "expected `;` after {}", after);
    // In `7 // 2;` the semicolon is there, in a comment.
    const std::string_view rest = rest_of_line(previous().end);
    if (rest.starts_with("//") && rest.ends_with(';')) {
      problem.help("`//` begins a comment; `/` between integers drops the fraction");
    } else {
      problem.help("write `;` here");
    }
    return;
  }
  auto& problem = error(range(), "expected `;` after {}, found {}", after, found());
  switch (kind()) {
    case TokenKind::kDotDot:
    case TokenKind::kDotDotEqual:
      problem.help(
          "a range is no value: it stands in `for i in a..b`; `xs.slice(a, b)` copies a part of an array");
      break;
    case TokenKind::kLeftBrace:
      problem.help(
          "objects are made by a call, `Name(field: value)`; closures are arguments, `f(fn(x) => x + 1)`");
      break;
    case TokenKind::kString:
    case TokenKind::kFormatBegin:
      problem.help("join strings with `+`, or write `f\"... {{value}} ...\"`");
      break;
    case TokenKind::kComma:
      problem.help("write each on its own, ending in `;`, as the statements of a `match` do, too");
      break;
    case TokenKind::kIf: problem.help("a choice is written `if condition {{ a }} else {{ b }}`"); break;
    case TokenKind::kFatArrow: problem.help("a closure is written `fn(x) => x + 1`"); break;
    default: break;
  }
}

ast::Name Parser::take_name() {
  const ast::Name name{text(), range()};
  advance();
  return name;
}

ast::Name Parser::expect_name(std::string_view what) {
  if (at(TokenKind::kIdentifier)) return take_name();
  const bool keyword = kind() >= TokenKind::kAs && kind() <= TokenKind::kWhile;
  if (keyword && !token().first_on_line) {
    const std::string_view word = text();
    slip(range(), "`{}` is a keyword and cannot be {}", word, what)
        .help("choose another name, such as `{}_`", word);
    return take_name();
  }
  error(range(), "expected {}, found {}", what, found());
  return {};
}

std::string Parser::found() const {
  switch (kind()) {
    case TokenKind::kString:
    case TokenKind::kFormatBegin:
    case TokenKind::kEnd:
    case TokenKind::kFormatText:
    case TokenKind::kFormatEnd:
    case TokenKind::kFormatSpec: return std::string(describe(kind()));
    case TokenKind::kFormatClose: return "the `}` of the formatted string";
    default: break;
  }
  if (token().end - token().begin > 40) return std::string(describe(kind()));
  return fmt::format("`{}`", text());
}

// ----------------------------------------------------------------------------------- errors and recovery

Diagnostic& Parser::report(SourceRange where, std::string message, bool panic) {
  const bool reported_by_lexer = (panic && at(TokenKind::kError)) || after_broken_string();
  const bool say = !panic_ && !given_up_ && !reported_by_lexer;
  if (panic) {
    panic_ = true;
    if (!in_body_) module_->is_complete = false;
  }
  if (say) return diagnostics_.add(Severity::kError, where, std::move(message));
  unsaid_ = {};
  return unsaid_;
}

// At the start of the line after a string that was not closed, and so took the rest of its line with it.
bool Parser::after_broken_string() const {
  if (!token().first_on_line || pos_ == 0) return false;
  const Token& last = stream_.tokens[pos_ - 1];
  if (last.kind == TokenKind::kFormatEnd) return last.begin == last.end;
  return last.kind == TokenKind::kString &&
         (last.end - last.begin == 1 || source_[last.end - 1] != source_[last.begin]);
}

void Parser::too_deep(SourceRange where) {
  if (given_up_) return;
  slip(where, "this is nested more than {} levels deep", ast::kMaxDepth)
      .help("give inner parts names: variables for expressions, functions for blocks");
  module_->is_complete = false;
  // Deeper levels could only repeat this, and outer ones would complain about brackets that are not read.
  given_up_ = true;
  is_split_ = false;
  pos_ = static_cast<std::uint32_t>(stream_.tokens.size() - 1);
}

namespace {

bool begins_statement(TokenKind kind) {
  switch (kind) {
    case TokenKind::kBreak:
    case TokenKind::kContinue:
    case TokenKind::kFor:
    case TokenKind::kIf:
    case TokenKind::kLet:
    case TokenKind::kMatch:
    case TokenKind::kParallel:
    case TokenKind::kReturn:
    case TokenKind::kUse:
    case TokenKind::kVar:
    case TokenKind::kWhile: return true;
    default: return false;
  }
}

bool begins_declaration(TokenKind kind) {
  switch (kind) {
    case TokenKind::kClass:
    case TokenKind::kExtern:
    case TokenKind::kFn:
    case TokenKind::kImport:
    case TokenKind::kInterface:
    case TokenKind::kIntrinsic:
    case TokenKind::kStruct: return true;
    default: return false;
  }
}

}  // namespace

bool Parser::declaration_at_margin() const { return margin_declaration(token(), kind(1)); }

bool Parser::margin_declaration(const Token& t, TokenKind next) const {
  if (!t.first_on_line || !begins_declaration(t.kind)) return false;
  if (t.kind == TokenKind::kFn && next != TokenKind::kIdentifier) return false;
  return t.begin == 0 || source_[t.begin - 1] == '\n';
}

// Pairs the brackets of the whole file once, so that recovery can jump over groups in constant time.
// A bracket without partner keeps 0. `;` and `}` end round and square brackets that are open inside
// the same braces.
void Parser::match_brackets() {
  const std::vector<Token>& tokens = stream_.tokens;
  partner_.assign(tokens.size(), 0);
  std::vector<std::uint32_t> open;
  const auto kind_of_top = [&] { return open.empty() ? TokenKind::kEnd : tokens[open.back()].kind; };
  const auto drop_until_brace = [&] {
    while (!open.empty() && kind_of_top() != TokenKind::kLeftBrace) open.pop_back();
  };
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    TokenKind opener = TokenKind::kEnd;
    switch (tokens[i].kind) {
      case TokenKind::kLeftParen:
      case TokenKind::kLeftBracket:
      case TokenKind::kLeftBrace: open.push_back(i); break;
      case TokenKind::kRightParen: opener = TokenKind::kLeftParen; break;
      case TokenKind::kRightBracket: opener = TokenKind::kLeftBracket; break;
      case TokenKind::kRightBrace:
        opener = TokenKind::kLeftBrace;
        drop_until_brace();
        break;
      case TokenKind::kSemicolon: drop_until_brace(); break;
      default:
        if (i + 1 < tokens.size() && margin_declaration(tokens[i], tokens[i + 1].kind)) open.clear();
        break;
    }
    if (opener != TokenKind::kEnd && kind_of_top() == opener) {
      partner_[open.back()] = i;
      open.pop_back();
    }
  }
}

void Parser::skip_balanced() {
  const std::uint32_t partner = is_split_ ? 0 : partner_[pos_];
  if (partner != 0) {
    is_split_ = false;
    pos_ = partner;
  }
  advance();
}

void Parser::synchronise_statement() {
  while (!at(TokenKind::kEnd)) {
    // The panic goes on: every enclosing block ends here too, and one message about that is enough.
    if (declaration_at_margin()) return;
    if (after_broken_string()) break;
    if (accept(TokenKind::kSemicolon) || at(TokenKind::kRightBrace)) break;
    if (token().first_on_line && begins_statement(kind())) break;
    const bool braces = at(TokenKind::kLeftBrace);
    skip_balanced();
    if (braces && token().first_on_line) break;
  }
  if (!at(TokenKind::kEnd)) panic_ = false;
}

void Parser::synchronise_declaration() {
  while (!at(TokenKind::kEnd)) {
    const bool word = begins_declaration(kind()) || at(TokenKind::kConst);
    if (token().first_on_line && word) break;
    skip_balanced();
  }
  panic_ = false;
}

bool Parser::recover_to_brace() {
  while (!at(TokenKind::kLeftBrace)) {
    if (at(TokenKind::kEnd) || at(TokenKind::kSemicolon) || at(TokenKind::kRightBrace)) return false;
    if (token().first_on_line) return false;
    skip_balanced();
  }
  panic_ = false;
  return true;
}

// ------------------------------------------------------------------------------------------------ nodes

ast::Expr* Parser::make(ast::ExprKind kind, SourceRange range) {
  ast::Expr& node = module_->exprs.emplace_back();
  node.kind = kind;
  node.range = range;
  return &node;
}

ast::Stmt* Parser::make(ast::StmtKind kind, SourceRange range) {
  ast::Stmt& node = module_->stmts.emplace_back();
  node.kind = kind;
  node.range = range;
  return &node;
}

ast::Type* Parser::make(ast::TypeKind kind, SourceRange range) {
  ast::Type& node = module_->type_nodes.emplace_back();
  node.kind = kind;
  node.range = range;
  return &node;
}

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

std::uint32_t Parser::height(const ast::Function& function) { return height_inside(function); }

ast::Expr* Parser::finish(ast::Expr* expr) {
  expr->height = height_inside(*expr) + 1;
  expr->range = since(expr->range);
  if (expr->height <= ast::kMaxDepth) return expr;
  too_deep(expr->operator_range.end > 0 ? expr->operator_range : expr->range);
  return error_expr();
}

ast::Stmt* Parser::finish(ast::Stmt* stmt) {
  stmt->height = height_inside(*stmt) + 1;
  stmt->range = since(stmt->range);
  if (stmt->height <= ast::kMaxDepth) return stmt;
  too_deep(stmt->range);
  return error_stmt();
}

ast::Type* Parser::finish(ast::Type* type) {
  type->height = height_inside(*type) + 1;
  type->range = since(type->range);
  if (type->height <= ast::kMaxDepth) return type;
  too_deep(type->range);
  return error_type();
}

}  // namespace dhpvm::compiler
