// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/type_declarations.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::TypeDeclKind;

namespace {

std::string_view word_of(TypeDeclKind kind) {
  switch (kind) {
    case TypeDeclKind::kStruct: return "struct";
    case TypeDeclKind::kClass: return "class";
    case TypeDeclKind::kInterface: return "interface";
    case TypeDeclKind::kEnum: return "enum";
    case TypeDeclKind::kAlias: break;
  }
  return "type";
}

std::string_view article(TypeDeclKind kind) {
  return kind == TypeDeclKind::kInterface || kind == TypeDeclKind::kEnum ? "an" : "a";
}

// Whether a field ends after its type at this token, here or in another language.
bool ends_field(const Token& token) {
  return token.kind == TokenKind::kSemicolon || token.kind == TokenKind::kEqual ||
         token.kind == TokenKind::kComma || token.kind == TokenKind::kRightBrace || token.first_on_line;
}

FunctionBody body_of_methods(TypeDeclKind kind) {
  return kind == TypeDeclKind::kInterface ? FunctionBody::kOptional : FunctionBody::kRequired;
}

}  // namespace

void TypeDeclarationParser::type_declaration() {
  ast::TypeDecl& decl = module_.type_decls.emplace_back();
  decl.range = range();
  if (at(TokenKind::kClass)) decl.kind = TypeDeclKind::kClass;
  if (at(TokenKind::kInterface)) decl.kind = TypeDeclKind::kInterface;
  if (at(TokenKind::kEnum)) decl.kind = TypeDeclKind::kEnum;
  advance();
  if (decl.kind == TypeDeclKind::kEnum && (at(TokenKind::kClass) || at(TokenKind::kStruct))) {
    slip(range(), "an `enum` is no {}", text()).help("remove `{}`", text());
    advance();
  }
  decl.name = expect_name("the name of a type");
  if (!decl.name.empty()) module_.types.push_back(&decl);
  if (!in_panic()) decl.type_parameters = parts_.types.type_parameters();
  if (!in_panic()) base_types(decl);
  if (in_panic() && !recovery_.skip_to_brace()) return;
  members(decl);
}

// `{ ... }`
void TypeDeclarationParser::members(ast::TypeDecl& decl) {
  const SourceRange open = range();
  if (at(TokenKind::kLeftParen)) {
    error(open, "the fields of a {} stand in braces", word_of(decl.kind))
        .help("write `{{ x: f64; y: f64; }}`");
    return;
  }
  if (!expect(TokenKind::kLeftBrace, "before the members")) return;
  // An unindented struct, class or interface cannot be a member, so the `}` must be missing. Unindented functions may
  // be members in a source without indentation.
  const auto another_type = [&] { return recovery_.at_margin_declaration() && !at(TokenKind::kFn); };
  while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !another_type()) {
    const std::uint32_t before = cursor_.position();
    member_declaration(decl);
    if (in_panic()) {
      const bool margin = recovery_.at_margin_declaration();
      recovery_.skip_to_statement();
      if (margin || recovery_.at_margin_declaration()) errors_.end_panic();
    }
    if (cursor_.position() == before && !at(TokenKind::kRightBrace) && !another_type()) advance();
  }
  if (!accept(TokenKind::kRightBrace)) {
    error(open, "this `{{` is not closed").note(range(), "{} is reached without its `}}`", found());
  }
  decl.range = cursor_.since(decl.range);
  if (at(TokenKind::kSemicolon) && !in_panic()) {
    slip(range(), "there is no `;` after the `}}` of {} {}", article(decl.kind), word_of(decl.kind))
        .help("remove it");
    advance();
  }
}

// `type Table<V> = Map<str, V>;`
void TypeDeclarationParser::alias() {
  ast::TypeDecl& decl = module_.type_decls.emplace_back();
  decl.kind = TypeDeclKind::kAlias;
  decl.range = range();
  advance();
  decl.name = expect_name("the name of a type");
  module_.types.push_back(&decl);
  decl.type_parameters = parts_.types.type_parameters();
  // `type Point struct { ... }`
  const bool declares = at(TokenKind::kStruct) || at(TokenKind::kInterface) || at(TokenKind::kClass);
  if (declares && kind(1) == TokenKind::kLeftBrace && !in_panic()) {
    decl.kind = at(TokenKind::kStruct)  ? TypeDeclKind::kStruct
                : at(TokenKind::kClass) ? TypeDeclKind::kClass
                                        : TypeDeclKind::kInterface;
    slip(cursor_.since(decl.range), "the declaration of {} {} begins with `{}`", article(decl.kind),
         word_of(decl.kind), word_of(decl.kind))
        .help("write `{} {} {{ ... }}`", word_of(decl.kind), decl.name.text);
    advance();
    return members(decl);
  }
  if (!in_panic() && !accept(TokenKind::kEqual)) {
    error(range(), "expected `=` after the name of the type, found {}", found())
        .help("write `type {} = T;`; a type of its own is a struct, class, interface or enum",
              decl.name.text);
  }
  decl.aliased = in_panic() ? error_type() : parts_.types.type();
  if (!in_panic()) expect_semicolon("the type");
  decl.range = cursor_.since(decl.range);
}

// `: Named, Printable`
void TypeDeclarationParser::base_types(ast::TypeDecl& decl) {
  const bool extends = at_word("extends");
  const bool foreign = extends || at_word("implements");
  if (!foreign && !at(TokenKind::kColon)) return;
  if (at(TokenKind::kColon) && token(1).first_on_line) {
    error(range(), "the members of {} {} stand in braces, without `:`", article(decl.kind),
          word_of(decl.kind))
        .help("write `{} {} {{ ... }}`", word_of(decl.kind), decl.name.text);
    return;
  }
  if (foreign && decl.kind == TypeDeclKind::kClass) {
    slip(range(), "there is no `{}`", text())
        .help("{}", extends
                        ? "classes have no base classes: keep the other object in a field; interfaces stand "
                          "behind a colon, `class C : I`"
                        : "write `:` and the interfaces");
  }
  if (decl.kind != TypeDeclKind::kClass) {
    slip(range(), "{} {} implements no interfaces", article(decl.kind), word_of(decl.kind))
        .help("{}", decl.kind == TypeDeclKind::kStruct ? "make it a class, or leave the interface out"
                    : decl.kind == TypeDeclKind::kEnum
                        ? "leave the interface out: its cases are told apart by `match`"
                        : "repeat the functions of the other interface in this one");
  }
  advance();
  do {
    if (at_word("public")) advance();
    ast::Type* base = parts_.types.type();
    // With `extends` the type need not be an interface, and a second error would not help.
    if (decl.kind == TypeDeclKind::kClass && !extends) decl.interfaces.push_back(base);
    if (!in_panic() && at_word("implements")) {
      slip(range(), "there is no `implements`").help("write `,`");
      advance();
      decl.interfaces.push_back(parts_.types.type());
    }
  } while (!in_panic() && accept(TokenKind::kComma));
}

void TypeDeclarationParser::member_declaration(ast::TypeDecl& decl) {
  parts_.declarations.skip_modifiers();
  switch (kind()) {
    case TokenKind::kFn:
      decl.methods.push_back(parts_.functions.function(body_of_methods(decl.kind)));
      return;
    case TokenKind::kInit: init(decl); return;
    case TokenKind::kLet:
      advance();
      if (decl.kind == TypeDeclKind::kEnum) return enum_case(decl);
      field(decl, Mutability::kImmutable);
      return;
    case TokenKind::kVar:
      slip(range(), "a field is written without `var`").help("write `{}: type;`", text(1));
      advance();
      field(decl, Mutability::kMutable);
      return;
    case TokenKind::kIdentifier:
      if (decl.kind == TypeDeclKind::kEnum) return enum_case(decl);
      if (!foreign_member(decl)) field(decl, Mutability::kMutable);
      return;
    case TokenKind::kSemicolon:
      slip(range(), "there is no member before this `;`").help("remove it");
      advance();
      return;
    case TokenKind::kConst:
      error(range(), "constants stand at the top level of a file")
          .help("move it out of the {}; a field that never changes is written `let name: type;`",
                word_of(decl.kind));
      advance();
      return;
    default:
      error(range(), "expected a member of the {}, found {}", word_of(decl.kind), found())
          .help("members are {}, and functions, `fn name() {{ ... }}`",
                decl.kind == TypeDeclKind::kEnum ? "cases, `name;` or `name(value: type);`"
                                                 : "fields, `name: type;`");
      return;
  }
}

// `red;`, `circle(radius: f64);`, `some(T);`: cases end in `;` or `,`, the last one needs neither.
void TypeDeclarationParser::enum_case(ast::TypeDecl& decl) {
  if (at_word("case") && kind(1) == TokenKind::kIdentifier) {
    slip(range(), "a case begins with its name").help("remove `case`");
    advance();
  }
  ast::EnumCase node;
  node.range = range();
  node.name = expect_name("the name of a case");
  if (in_panic()) return;
  const bool braces = at(TokenKind::kLeftBrace);
  if (braces) {
    error(range(), "the values of a case stand in parentheses")
        .help("write `{}(name: type, ...);`", node.name.text);
    return;
  }
  if (at(TokenKind::kEqual)) {
    if (is_first("case = 1", decl)) {
      slip(range(), "a case has no number of its own")
          .help("`as i64` gives its position; for other numbers write a method with a `match`");
    }
    advance();
    parts_.expressions.expression();
  } else if (at(TokenKind::kColon)) {
    error(range(), "an enum has cases and no fields").help("write `{}(name: type);`", node.name.text);
    return;
  }
  if (!in_panic() && at(TokenKind::kLeftParen)) case_values(node);
  if (in_panic()) return;
  node.range = cursor_.since(node.range);
  decl.cases.push_back(std::move(node));
  if (accept(TokenKind::kComma) || accept(TokenKind::kSemicolon) || at(TokenKind::kRightBrace)) return;
  slip(cursor_.gap(), "expected `;` after the case").help("write `;`");
  accept(TokenKind::kPipe);
}

void TypeDeclarationParser::case_values(ast::EnumCase& node) {
  const SourceRange open = range();
  advance();
  while (!at(TokenKind::kRightParen) && !at(TokenKind::kEnd)) {
    ast::Field value;
    value.range = range();
    value.immutable = true;
    if (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kColon) {
      value.name = take_name();
      advance();
    }
    value.type = parts_.types.type();
    if (!in_panic() && accept(TokenKind::kEqual)) value.fallback = parts_.expressions.expression();
    value.range = cursor_.since(value.range);
    node.values.push_back(value);
    if (in_panic()) return;
    if (!accept(TokenKind::kComma)) break;
  }
  if (!accept(TokenKind::kRightParen)) {
    error(range(), "expected `,` or `)` after the value, found {}", found())
        .note(open, "the values of this case begin here");
  } else if (node.values.empty()) {
    slip(cursor_.since(open), "there is nothing between the parentheses").help("remove them");
  }
}

// Methods, constructors and fields of other languages. False if it looks like a field of this one.
bool TypeDeclarationParser::foreign_member(ast::TypeDecl& decl) {
  const bool name_next = kind(1) == TokenKind::kIdentifier && !token(1).first_on_line;
  if (const std::string_view advice = member_word_for_foreign(text());
      !advice.empty() && (name_next || kind(1) == TokenKind::kLeftBrace)) {
    error(range(), "there is no `{}`", text()).help("{}", advice);
    return true;
  }
  const bool label = !modifier_for_foreign(text()).empty() && kind(1) == TokenKind::kColon;
  if (label) {  // `public:`
    const std::uint32_t end = TypeScan::end_of_type(cursor_, cursor_.position() + 2);
    if (end != TypeScan::kNoType && ends_field(cursor_.token_at(end))) return false;
    slip(join(range(), range(1)), "there is no `{}:`", text())
        .help("remove it: all members can be used everywhere");
    advance();
    advance();
    return true;
  }
  if (is_function_word(text()) && kind(1) == TokenKind::kIdentifier) {
    decl.methods.push_back(parts_.functions.function(body_of_methods(decl.kind)));
    return true;
  }
  const bool constructor =
      kind(1) == TokenKind::kLeftParen &&
      (text() == decl.name.text || at_word("constructor") || at_word("new") || at_word("__init__"));
  if (constructor) {
    slip(range(), "a constructor is called `init`").help("write `init(...) {{ ... }}`");
    init(decl);
    return true;
  }
  if (kind(1) == TokenKind::kLeftParen) {
    slip(range(), "functions are declared with `fn`").help("write `fn {}`", text());
    ast::Function& node = state_.tree.make_function(range());
    parts_.functions.function_after_word(node, body_of_methods(decl.kind));
    decl.methods.push_back(&node);
    return true;
  }
  // `i64 x;`, `List<i64> xs = ...;`
  const std::uint32_t end = end_of_type();
  if (end == TypeScan::kNoType || cursor_.token_at(end).kind != TokenKind::kIdentifier ||
      cursor_.token_at(end).first_on_line) {
    return false;
  }
  if (parts_.types.is_type_word(cursor_.token_at(end))) return false;  // `x i64;`
  ast::Field node;
  node.range = range();
  node.type = parts_.types.type();
  const std::string_view type_text = cursor_.text_of(node.type->range);
  const std::string_view here = type_for_foreign(type_text);
  node.name = take_name();
  if (is_first("type name", decl)) {
    slip(cursor_.since(node.range), "a field's type stands behind its name")
        .help("write `{}: {};`", node.name.text, here.empty() ? type_text : here);
  }
  if (accept(TokenKind::kEqual)) node.fallback = parts_.expressions.expression();
  expect_semicolon("the field");
  node.range = cursor_.since(node.range);
  decl.fields.push_back(node);
  return true;
}

void TypeDeclarationParser::init(ast::TypeDecl& decl) {
  ast::Function& node = state_.tree.make_function(range());
  node.name = take_name();
  node.name.text = "init";
  if (decl.kind != TypeDeclKind::kClass) {
    slip(node.name.range, "{} {} has no `init`", article(decl.kind), word_of(decl.kind))
        .help("{}", decl.kind == TypeDeclKind::kInterface ? "the classes have it"
                    : decl.kind == TypeDeclKind::kEnum
                        ? "its values are made by its cases"
                        : "it is made from its fields; write a function that gives one for anything else");
  }
  if (expect(TokenKind::kLeftParen, "after `init`"))
    node.parameters = parts_.functions.parameters(ParameterTypes::kRequired);
  if (!in_panic() && (at(TokenKind::kArrow) || at(TokenKind::kColon))) {
    error(range(), "`init` gives nothing")
        .help(
            "remove the result type; where making it can fail, write a function: `fn open(...) -> {}! {{ ... "
            "}}`",
            decl.name.text);
  }
  if (in_panic() && !recovery_.skip_to_brace()) return;
  if (at(TokenKind::kLeftBrace)) {
    node.body = parts_.statements.block();
  } else {
    error(range(), "expected `{{` before the body of `init`, found {}", found());
  }
  node.range = cursor_.since(node.range);
  if (node.body == nullptr || TreeBuilder::height(node) > ast::kMaxDepth) return;
  if (decl.kind != TypeDeclKind::kClass) return;
  if (decl.init == nullptr) {
    decl.init = &node;
  } else {
    slip(node.name.range, "a class has one `init`")
        .note(decl.init->name.range, "the first is here")
        .help("use default arguments, or functions that make objects");
  }
}

// A habit that a whole type repeats is reported once.
bool TypeDeclarationParser::is_first(std::string_view habit, const ast::TypeDecl& decl) {
  const bool first = told_about_ != &decl || told_ != habit;
  told_about_ = &decl;
  told_ = habit;
  return first;
}

void TypeDeclarationParser::field(ast::TypeDecl& decl, Mutability mutability) {
  ast::Field node;
  node.range = range();
  node.immutable = mutability == Mutability::kImmutable;
  node.name = expect_name("the name of a field");
  if (in_panic()) return;
  if (accept(TokenKind::kColon)) {
    node.type = parts_.types.type();
  } else {
    const std::uint32_t end = at(TokenKind::kEqual) ? TypeScan::kNoType : end_of_type();
    const bool type_follows = end != TypeScan::kNoType && !token().first_on_line;
    if (type_follows) {
      slip(cursor_.gap(), "expected `:` before the type").help("write `{}: {};`", node.name.text, text());
    } else {
      slip(node.name.range, "the field `{}` has no type", node.name.text)
          .help("write `{}: type;`", node.name.text);
    }
    node.type = type_follows ? parts_.types.type() : error_type();
  }
  if (!in_panic() && accept(TokenKind::kEqual)) node.fallback = parts_.expressions.expression();
  node.range = cursor_.since(node.range);
  if (decl.kind == TypeDeclKind::kInterface) {
    slip(node.range, "an interface has no fields")
        .help("declare a function: `fn {}() -> type;`", node.name.text);
  } else {
    decl.fields.push_back(node);
  }
  if (in_panic()) return;
  if (at(TokenKind::kComma) || (at(TokenKind::kRightBrace) && !token().first_on_line)) {
    if (is_first("field,", decl))
      slip(at(TokenKind::kComma) ? range() : cursor_.gap(), "a field ends in `;`").help("write `;`");
    accept(TokenKind::kComma);
    return;
  }
  expect_semicolon("the field");
}

}  // namespace dhpvm::compiler
