// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/declarations.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

void DeclarationParser::skip_modifiers() {
  skip_attributes();
  for (;;) {
    const std::string_view advice = at(TokenKind::kIdentifier) ? modifier_for_foreign(text()) : "";
    const bool declaration_follows = kind(1) == TokenKind::kIdentifier || is_keyword(kind(1));
    if (advice.empty() || !declaration_follows || token(1).first_on_line) return;
    slip(range(), "there is no `{}`", text()).help("{}", advice);
    advance();
  }
}

// `@property`, `@jit(nopython: true)` and the like, before a declaration.
void DeclarationParser::skip_attributes() {
  while (at(TokenKind::kAt) && kind(1) == TokenKind::kIdentifier && !in_panic()) {
    std::uint32_t end = cursor_.position() + 2;
    while (cursor_.token_at(end).kind == TokenKind::kDot) end += 2;
    if (const std::uint32_t close = state_.layout.partner(end); close != 0) end = close + 1;
    const TokenKind next = cursor_.token_at(end).kind;
    const bool declared = next == TokenKind::kIdentifier || next == TokenKind::kAt ||
                          next == TokenKind::kConst || begins_declaration(next);
    if (!declared) return;  // the hint of a loop outside a function
    const std::string_view advice = attribute_for_foreign(text(1));
    slip(join(range(), range(1)), "declarations have no attributes")
        .help("{}", advice.empty() ? "remove it" : advice);
    while (cursor_.position() < end) advance();
  }
}

void DeclarationParser::declaration() {
  skip_modifiers();
  switch (kind()) {
    case TokenKind::kImport: return import();
    case TokenKind::kConst: return constant();
    case TokenKind::kStruct:
    case TokenKind::kClass:
    case TokenKind::kInterface:
    case TokenKind::kEnum: return parts_.type_declarations.type_declaration();
    case TokenKind::kFn:
      module_.functions.push_back(parts_.functions.function(FunctionBody::kRequired));
      return;
    case TokenKind::kExtern:
      module_.functions.push_back(parts_.functions.native_function(ast::Linkage::kExtern));
      return;
    case TokenKind::kIntrinsic:
      module_.functions.push_back(parts_.functions.native_function(ast::Linkage::kIntrinsic));
      return;
    case TokenKind::kSemicolon:
      slip(range(), "there is no declaration before this `;`").help("remove it");
      advance();
      return;
    case TokenKind::kRightBrace:
      slip(range(), "this `}}` closes nothing").help("remove it, or look for a `}}` too many above");
      advance();
      return;
    default:
      if (cursor_.at_alias()) return parts_.type_declarations.alias();
      return foreign_top_level();
  }
}

// A declaration of another language.
void DeclarationParser::foreign_top_level() {
  if (is_function_word(text()) && at(TokenKind::kIdentifier) && kind(1) == TokenKind::kIdentifier) {
    module_.functions.push_back(parts_.functions.function(FunctionBody::kRequired));
    return;
  }
  if (at(TokenKind::kLet) || at(TokenKind::kVar)) {
    auto& problem = error(range(), "there are no global variables");
    problem.help("write `const` for a constant; pass variables to the functions that need them");
    advance();
    return;
  }
  const std::string_view advice = at(TokenKind::kIdentifier) ? declaration_for_foreign(text()) : "";
  if (!advice.empty()) {
    error(range(), "there is no `{}`", text()).help("{}", advice);
    advance();
    return;
  }
  const bool is_statement = starts_expression() || at(TokenKind::kFor) || at(TokenKind::kWhile) ||
                            at(TokenKind::kReturn) || at(TokenKind::kParallel) || at(TokenKind::kAt) ||
                            at(TokenKind::kUse);
  // `int main() { ... }`
  const std::uint32_t name = end_of_type();
  const bool c_function = name != TypeScan::kNoType &&
                          cursor_.token_at(name).kind == TokenKind::kIdentifier &&
                          cursor_.token_at(name + 1).kind == TokenKind::kLeftParen;
  if (c_function) {
    const Token& t = cursor_.token_at(name);
    error(join(range(), cursor_.range_of(t)), "functions are declared with `fn`")
        .help("write `fn {}(...) -> type {{ ... }}`", cursor_.text_of(t));
  } else if (at(TokenKind::kUse) && kind(1) == TokenKind::kIdentifier) {
    error(range(), "modules are imported").help("write `import name;`, and `name.function` where it is used");
  } else if (is_statement) {
    error(range(), "statements stand inside functions").help("a program begins in `fn main() {{ ... }}`");
  } else {
    error(range(), "expected a declaration, found {}", found())
        .help("a file holds import, const, fn, extern, struct, class, interface, enum and type");
  }
  advance();
}

void DeclarationParser::import() {
  ast::Import node;
  node.range = range();
  advance();
  if (at(TokenKind::kString)) {
    error(range(), "a module is named without quotes")
        .help("write `import geometry.shapes;` for geometry/shapes.dhp");
    return;
  }
  if (at(TokenKind::kLeftParen)) {
    error(range(), "an `import` names one module").help("write one `import name;` for each");
    return;
  }
  do {
    if (at(TokenKind::kLeftBrace) || at(TokenKind::kStar)) {
      error(range(), "an `import` names a module, and nothing in it")
          .help("write `import name;`, and `name.function` where it is used; types need no `name.`");
      return;
    }
    node.path.push_back(expect_name("the name of a module"));
  } while (!in_panic() && accept(TokenKind::kDot));
  if (in_panic()) return;
  node.name = node.path.back();
  if (accept(TokenKind::kAs)) node.name = expect_name("the name for the module");
  if (in_panic()) return;
  node.range = cursor_.since(node.range);
  module_.imports.push_back(node);
  if (at(TokenKind::kComma)) {
    error(range(), "an `import` names one module").help("write one `import` for each");
    return;
  }
  expect_semicolon("the import");
}

void DeclarationParser::constant() {
  ast::Constant& node = module_.constant_nodes.emplace_back();
  node.range = range();
  advance();
  if (at(TokenKind::kLeftParen)) {
    error(range(), "a `const` declares one constant")
        .help("write `const name = value;` for each; names that are counted are an `enum`");
    return;
  }
  node.name = expect_name("the name of a constant");
  if (!in_panic() && accept(TokenKind::kColon)) {
    node.type = parts_.types.type();
  } else if (!in_panic() && parts_.types.type_without_colon()) {
    slip(cursor_.gap(), "expected `:` before the type").help("write `const {}: {}`", node.name.text, text());
    node.type = parts_.types.type();
  }
  if (!in_panic() && !accept(TokenKind::kEqual)) {
    error(range(), "expected `=` after the constant's name, found {}", found())
        .help("write `const {} = 42;`", node.name.empty() ? "N" : node.name.text);
  }
  node.value = in_panic() ? error_expr() : parts_.expressions.expression();
  expect_semicolon("the constant");
  node.range = cursor_.since(node.range);
  // Kept even if it is wrong, so that its uses are not reported as unknown.
  if (!node.name.empty()) module_.constants.push_back(&node);
}

}  // namespace dhpvm::compiler
