// SPDX-License-Identifier: Apache-2.0
// Imports, constants, functions. Structs, classes and interfaces are in type_declarations.cpp.
#include "compiler/parse/parser_impl.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

void Parser::skip_modifiers() {
  while (at(TokenKind::kIdentifier) && is_modifier_word(text())) {
    const bool declaration_follows =
        kind(1) == TokenKind::kIdentifier || (kind(1) >= TokenKind::kAs && kind(1) <= TokenKind::kWhile);
    if (!declaration_follows || token(1).first_on_line) return;
    slip(range(), "there is no `{}`", text())
        .help("remove it: everything that is declared can be used everywhere");
    advance();
  }
}

void Parser::declaration() {
  skip_modifiers();
  switch (kind()) {
    case TokenKind::kImport: return import();
    case TokenKind::kConst: return constant();
    case TokenKind::kStruct:
    case TokenKind::kClass:
    case TokenKind::kInterface: return type_declaration();
    case TokenKind::kFn: module_->functions.push_back(function(Body::kRequired)); return;
    case TokenKind::kExtern: module_->functions.push_back(native_function(ast::Linkage::kExtern)); return;
    case TokenKind::kIntrinsic:
      module_->functions.push_back(native_function(ast::Linkage::kIntrinsic));
      return;
    case TokenKind::kSemicolon:
      slip(range(), "there is no declaration before this `;`").help("remove it");
      advance();
      return;
    case TokenKind::kRightBrace:
      slip(range(), "this `}}` closes nothing").help("remove it, or look for a `}}` too many above");
      advance();
      return;
    default: return foreign_top_level();
  }
}

// Something that is no declaration here.
void Parser::foreign_top_level() {
  if (is_function_word(text()) && at(TokenKind::kIdentifier) && kind(1) == TokenKind::kIdentifier) {
    slip(range(), "functions are declared with `fn`").help("write `fn {}`", text(1));
    module_->functions.push_back(function(Body::kRequired));
    return;
  }
  if (at(TokenKind::kLet) || at(TokenKind::kVar)) {
    auto& problem = error(range(), "there are no global variables");
    problem.help("write `const` for a constant; pass variables to the functions that need them");
    advance();
    return;
  }
  struct Habit {
    std::string_view word;
    std::string_view help;
  };
  constexpr Habit kHabits[] = {
      {"from", "write `import name;` and use `name.function`"},
      {"using", "write `import name;`"},
      {"include", "write `import name;`"},
      {"require", "write `import name;`"},
      {"enum", "write `const` for each value, or an interface and classes"},
      {"trait", "write `interface`"},
      {"protocol", "write `interface`"},
      {"impl", "write the functions inside the struct or class"},
      {"type", "types have one name; declare a struct or class"},
      {"typedef", "types have one name; declare a struct or class"},
      {"namespace", "each file is a module of its own"},
      {"module", "each file is a module of its own"},
      {"package", "each file is a module of its own"},
      {"template", "type parameters stand behind the name: `fn f<T>(x: T)`, `class C<T>`"},
      {"record", "write `struct`"},
      {"object", "write `class`"},
      {"union", "write an interface and classes"},
  };
  for (const Habit& habit : kHabits) {
    if (!at_word(habit.word)) continue;
    error(range(), "there is no `{}`", text()).help("{}", habit.help);
    advance();
    return;
  }
  const bool is_statement = starts_expression() || at(TokenKind::kFor) || at(TokenKind::kWhile) ||
                            at(TokenKind::kReturn) || at(TokenKind::kParallel) || at(TokenKind::kAt) ||
                            at(TokenKind::kUse);
  // `int main() { ... }`
  const std::uint32_t name = end_of_type(pos_);
  const bool c_function = name != kNoType && stream_.tokens[name].kind == TokenKind::kIdentifier &&
                          stream_.tokens[name + 1].kind == TokenKind::kLeftParen;
  if (c_function) {
    const Token& t = stream_.tokens[name];
    error(join(range(), {file_, t.begin, t.end}), "functions are declared with `fn`")
        .help("write `fn {}(...) -> type {{ ... }}`", source_.substr(t.begin, t.end - t.begin));
  } else if (is_statement) {
    error(range(), "statements stand inside functions").help("a program begins in `fn main() {{ ... }}`");
  } else {
    error(range(), "expected a declaration, found {}", found())
        .help("a file holds import, const, fn, extern, struct, class and interface");
  }
  advance();
}

void Parser::import() {
  ast::Import node;
  node.range = range();
  advance();
  if (at(TokenKind::kString)) {
    error(range(), "a module is named without quotes")
        .help("write `import geometry.shapes;` for geometry/shapes.dhp");
    return;
  }
  do {
    node.path.push_back(expect_name("the name of a module"));
  } while (!panic_ && accept(TokenKind::kDot));
  if (panic_) return;
  node.name = node.path.back();
  if (accept(TokenKind::kAs)) node.name = expect_name("the name for the module");
  if (panic_) return;
  node.range = since(node.range);
  module_->imports.push_back(node);
  if (at(TokenKind::kComma)) {
    error(range(), "an `import` names one module").help("write one `import` for each");
    return;
  }
  expect_semicolon("the import");
}

void Parser::constant() {
  ast::Constant& node = module_->constant_nodes.emplace_back();
  node.range = range();
  advance();
  node.name = expect_name("the name of a constant");
  if (!panic_ && accept(TokenKind::kColon)) {
    node.type = type();
  } else if (!panic_ && type_without_colon()) {
    slip(gap(), "expected `:` before the type").help("write `const {}: {}`", node.name.text, text());
    node.type = type();
  }
  if (!panic_ && !accept(TokenKind::kEqual)) {
    error(range(), "expected `=` after the constant's name, found {}", found())
        .help("write `const {} = 42;`", node.name.empty() ? "N" : node.name.text);
  }
  node.value = panic_ ? error_expr() : expression();
  expect_semicolon("the constant");
  node.range = since(node.range);
  // Kept even when wrong: a use of it should not be reported as unknown.
  if (!node.name.empty()) module_->constants.push_back(&node);
}

// -------------------------------------------------------------------------------------------- functions

ast::Function* Parser::native_function(ast::Linkage linkage) {
  const SourceRange begin = range();
  advance();
  std::string import_name;
  bool has_import_name = false;
  if (at(TokenKind::kString)) {
    has_import_name = true;
    import_name = stream_.strings[token().value];
    advance();
  }
  if (!at(TokenKind::kFn)) {
    ast::Function& node = module_->function_nodes.emplace_back();
    node.linkage = linkage;
    node.range = begin;
    error(range(), "expected `fn`, found {}", found()).help("write `extern fn log(x: f64);`");
    return &node;
  }
  ast::Function& node = module_->function_nodes.emplace_back();
  node.linkage = linkage;
  node.range = begin;
  node.import_name = std::move(import_name);
  node.has_import_name = has_import_name;
  advance();
  node.name = expect_name("the name of a function");
  if (!panic_) signature(node);
  if (!panic_ && (at(TokenKind::kLeftBrace) || at(TokenKind::kFatArrow))) {
    error(range(), "a function that is provided natively has no body").help("write `;`, or remove `extern`");
  }
  expect_semicolon("the declaration");
  node.range = since(node.range);
  return &node;
}

ast::Function* Parser::function(Body expected) {
  ast::Function& node = module_->function_nodes.emplace_back();
  node.range = range();
  advance();  // fn, or what stands for it elsewhere
  return function_after_word(node, expected);
}

ast::Function* Parser::function_after_word(ast::Function& node, Body expected) {
  if (at(TokenKind::kLeftParen) && !panic_) {
    error(range(), "expected the name of a function, found {}", found())
        .help("methods stand in the braces of their type, and their object is `this`");
  }
  if (!panic_) node.name = expect_name("the name of a function");
  if (!panic_) signature(node);
  if (!panic_) function_body(node, expected);
  if (panic_ && recover_to_brace()) {
    // A mistake in the head; the body may hold others.
    node.body = block();
  }
  node.range = since(node.range);
  const bool lacks_body = node.body == nullptr && node.expression == nullptr;
  if ((lacks_body && expected == Body::kRequired) || height(node) > ast::kMaxDepth) {
    node.expression = nullptr;
    node.body = make(ast::StmtKind::kBlock, gap());
    node.body->body = {error_stmt()};
  }
  return &node;
}

// From the type parameters to the result type.
void Parser::signature(ast::Function& node) {
  node.type_parameters = type_parameters();
  if (panic_) return;
  if (!at(TokenKind::kLeftParen)) {
    auto& problem = error(range(), "expected `(` after the function's name, found {}", found());
    if (at(TokenKind::kDot)) {
      problem.help("methods stand in the braces of their type; for others write `fn name(x: {})`",
                   node.name.text);
    } else if (node.name.text == "operator") {
      problem.help("operators are those of the language: write a method, `fn plus(other: T) -> T`");
    } else {
      problem.help("write `fn {}() {{ ... }}`", node.name.text);
    }
    return;
  }
  advance();
  node.parameters = parameters(true);
  if (!panic_) result_type(node);
}

void Parser::result_type(ast::Function& node) {
  if (at(TokenKind::kArrow)) {
    advance();
    if (at_word("void") || at_word("Unit") || at_word("None")) {
      slip(range(), "there is no type `{}`", text())
          .help("leave `-> {}` out: the function gives nothing", text());
      advance();
      return;
    }
    node.result = type();
    return;
  }
  // `: T` and a bare `T`. A `(` or `[` could begin other things; those are left to the next complaint.
  const bool colon = at(TokenKind::kColon);
  const bool bare = at(TokenKind::kIdentifier) && !token().first_on_line && !at_word("throws");
  if (!colon && !bare) return;
  const std::uint32_t end = end_of_type(colon ? pos_ + 1 : pos_);
  if (end == kNoType) return;
  const TokenKind next = stream_.tokens[end].kind;
  if (next != TokenKind::kLeftBrace && next != TokenKind::kFatArrow && next != TokenKind::kSemicolon) return;
  if (colon) {
    slip(range(), "the result type stands after `->`").help("write `-> {}`", text(1));
    advance();
  } else {
    slip(gap(), "expected `->` before the result type").help("write `-> {}`", text());
  }
  node.result = type();
}

void Parser::function_body(ast::Function& node, Body expected) {
  const bool has_body = at(TokenKind::kLeftBrace) || at(TokenKind::kFatArrow);
  if (expected == Body::kAbsent) {
    if (has_body) {
      slip(range(), "a function of an interface has no body").help("write `;`; the classes have the bodies");
    } else {
      expect_semicolon("the declaration");
      return;
    }
  }
  if (at(TokenKind::kLeftBrace)) {
    node.body = block();
    return;
  }
  if (accept(TokenKind::kFatArrow)) {
    if (at(TokenKind::kLeftBrace)) {
      slip(previous(), "a body in braces has no `=>` before it").help("remove `=>`");
      node.body = block();
      return;
    }
    node.expression = expression();
    expect_semicolon("the expression");
    return;
  }
  if (at(TokenKind::kSemicolon)) {
    slip(range(), "the function `{}` has no body", node.name.text)
        .help("write `{{ ... }}`; a function of the host is declared with `extern fn`");
    advance();
    return;
  }
  if (at(TokenKind::kEqual)) {
    slip(range(), "a function that is one expression is written with `=>`").help("write `=>`");
    advance();
    node.expression = expression();
    expect_semicolon("the expression");
    return;
  }
  if (at(TokenKind::kColon)) {
    error(range(), "expected `{{` before the function's body, found `:`")
        .help("blocks stand in braces: `{{ ... }}`");
    return;
  }
  error(token().first_on_line ? gap() : range(), "expected `{{` or `=>` before the body of `{}`",
        node.name.text);
}

// After the `(`, and the `)` too.
std::vector<ast::Parameter> Parser::parameters(bool types_required) {
  std::vector<ast::Parameter> list;
  while (!at(TokenKind::kRightParen) && !at(TokenKind::kEnd)) {
    if (!parameter(list, types_required) || panic_) return list;
    if (!accept(TokenKind::kComma)) break;
  }
  if (!accept(TokenKind::kRightParen)) {
    error(range(), "expected `,` or `)` after the parameter, found {}", found());
  }
  return list;
}

bool Parser::parameter(std::vector<ast::Parameter>& list, bool types_required) {
  ast::Parameter node;
  node.range = range();
  if (at(TokenKind::kAmpersand) && (at_word("self", 1) || at_word("mut", 1))) advance();
  // `self` is a name like any other where it has a type, or needs none.
  const bool is_receiver = at_word("self") && types_required && kind(1) != TokenKind::kColon;
  if (at(TokenKind::kThis) || is_receiver) {
    slip(range(), "a method has `this` without declaring it").help("remove the parameter");
    advance();
    return true;
  }
  const bool declares = at(TokenKind::kLet) || at(TokenKind::kVar) || at(TokenKind::kConst) || at_word("mut");
  if (declares && kind(1) == TokenKind::kIdentifier) {
    slip(range(), "a parameter is a name and a type").help("remove `{}`", text());
    advance();
    if (at_word("self")) {
      advance();
      return true;
    }
  }
  // `i64 x`, `List<i64> xs`
  const std::uint32_t end =
      at(TokenKind::kIdentifier) || at(TokenKind::kLeftBracket) ? end_of_type(pos_) : kNoType;
  if (end != kNoType && stream_.tokens[end].kind == TokenKind::kIdentifier) {
    const TokenKind after = stream_.tokens[end + 1].kind;
    const bool ends_parameter =
        after == TokenKind::kComma || after == TokenKind::kRightParen || after == TokenKind::kEqual;
    const bool type_first = ends_parameter && !is_type_word(stream_.tokens[end]);
    if (type_first) {
      const SourceRange begin = range();
      const std::string_view name =
          source_.substr(stream_.tokens[end].begin, stream_.tokens[end].end - stream_.tokens[end].begin);
      node.type = type();
      std::string_view type_text =
          source_.substr(node.type->range.begin, node.type->range.end - node.type->range.begin);
      if (const std::string_view here = type_for_foreign(type_text); !here.empty()) type_text = here;
      node.name = take_name();
      slip(since(begin), "a parameter's type stands behind its name").help("write `{}: {}`", name, type_text);
      list.push_back(node);
      return true;
    }
  }
  node.name = expect_name("the name of a parameter");
  if (panic_) return false;
  if (accept(TokenKind::kColon)) {
    node.type = type();
  } else if (at(TokenKind::kIdentifier) && is_type_word(token())) {
    slip(gap(), "expected `:` before the type").help("write `{}: {}`", node.name.text, text());
    node.type = type();
  } else if (types_required) {
    slip(node.name.range, "the parameter `{}` has no type", node.name.text)
        .help("write for example `{}: i64`", node.name.text);
    node.type = error_type();
  }
  if (!panic_ && accept(TokenKind::kEqual)) node.fallback = expression();
  node.range = since(node.range);
  list.push_back(node);
  return true;
}

}  // namespace dhpvm::compiler
