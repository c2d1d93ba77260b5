// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/types.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::TypeKind;

ast::Type* TypeParser::type(TypePlace place) {
  const Level level(*this);
  if (!level.ok) return error_type();
  ast::Type* result = base_type(place);
  // `T[]`, as other languages write arrays.
  while (at(TokenKind::kLeftBracket) && kind(1) == TokenKind::kRightBracket &&
         place == TypePlace::kDeclaration) {
    const SourceRange brackets = join(range(), range(1));
    advance();
    advance();
    const std::string_view element = cursor_.text_of(result->range);
    slip(brackets, "array types are written with the element type in brackets").help("write `[{}]`", element);
    ast::Type* array = make(TypeKind::kArray, result->range);
    array->element = result;
    result = finish(array);
  }
  const bool brackets_follow = at(TokenKind::kLeftBracket) && place == TypePlace::kDeclaration &&
                               result->kind == TypeKind::kNamed && cursor_.previous().end == range().begin;
  if (brackets_follow) result = foreign_brackets(*result);
  if (at(TokenKind::kQuestion)) {
    ast::Type* nullable = make(TypeKind::kNullable, result->range);
    nullable->element = result;
    advance();
    result = finish(nullable);
  }
  if (at(TokenKind::kBang) && place == TypePlace::kDeclaration) {
    ast::Type* failing = make(TypeKind::kResult, result->range);
    failing->element = result;
    advance();
    result = finish(failing);
  }
  return result;
}

ast::Type* TypeParser::base_type(TypePlace place) {
  switch (kind()) {
    case TokenKind::kIdentifier: return named_type(place);
    case TokenKind::kLeftBracket: return bracket_type();
    case TokenKind::kFn: return function_type();
    case TokenKind::kLeftParen: {
      const SourceRange begin = range();
      advance();
      if (at(TokenKind::kRightParen) && kind(1) == TokenKind::kArrow) {
        advance();
        return arrow_type(make(TypeKind::kFunction, begin));
      }
      if (at(TokenKind::kRightParen)) {
        error(join(begin, range()), "there is no empty type")
            .help("leave the result type out: `fn f() {{ }}`");
        return error_type();
      }
      ast::Type* inner = type();
      ast::Type* const made = at(TokenKind::kComma) && !in_panic() ? tuple_type(inner, begin) : inner;
      if (made == inner) expect(TokenKind::kRightParen, "after the type");
      if (in_panic() || !at(TokenKind::kArrow)) return made;
      ast::Type* function = make(TypeKind::kFunction, begin);
      function->arguments = made == inner ? std::vector{inner} : made->arguments;
      return arrow_type(function);
    }
    case TokenKind::kAmpersand:
    case TokenKind::kStar:
      slip(range(), "there are no pointer or reference types")
          .help("remove the `{}`: arrays and classes are references already, the rest is copied", text());
      advance();
      type(place);
      return error_type();
    case TokenKind::kNull:
      error(range(), "`null` is a value, not a type").help("write `T?` for a type that may be null");
      return error_type();
    default: error(range(), "expected a type, found {}", found()); return error_type();
  }
}

// At the arrow of `(A, B) -> C`, as other languages write the type of a function.
ast::Type* TypeParser::arrow_type(ast::Type* function) {
  advance();
  function->element = type();
  slip(cursor_.since(function->range), "the type of a function begins with `fn`")
      .help("write `fn` before the `(`");
  return finish(function);
}

// After the first type of `(A, B)`.
ast::Type* TypeParser::tuple_type(ast::Type* first, SourceRange open) {
  ast::Type* node = make(TypeKind::kTuple, open);
  node->arguments.push_back(first);
  while (!in_panic() && accept(TokenKind::kComma) && !at(TokenKind::kRightParen))
    node->arguments.push_back(type());
  if (!in_panic()) expect(TokenKind::kRightParen, "after the types of the tuple");
  if (node->arguments.size() > 1) return finish(node);
  if (!in_panic()) slip(cursor_.since(open), "a tuple has at least two values").help("remove the `,`");
  return first;
}

ast::Type* TypeParser::named_type(TypePlace place) {
  ast::Type* node = make(TypeKind::kNamed, range());
  node->name = take_name();
  if (at(TokenKind::kDot) && kind(1) == TokenKind::kIdentifier) {
    advance();
    node->qualifier = node->name;
    node->name = take_name();
  }
  const bool arguments =
      at(TokenKind::kLess) &&
      (place == TypePlace::kDeclaration ||
       (!is_primitive_type_name(node->name.text) &&
        TypeScan::end_of_type_arguments(cursor_, cursor_.position()) != TypeScan::kNoType));
  if (arguments) node->arguments = type_arguments();
  return finish(node);
}

// `list[int]`, `dict[str, int]`, `i64[10]`: at the bracket after a name.
ast::Type* TypeParser::foreign_brackets(const ast::Type& named) {
  const std::uint32_t close = state_.layout.partner(cursor_.position());
  if (close == 0) return error_type();
  const SourceRange brackets = join(range(), cursor_.range_of(cursor_.token_at(close)));
  std::string_view inside = cursor_.text_of(brackets);
  inside = inside.substr(1, inside.size() - 2);
  const std::string_view here = type_for_foreign(named.name.text);
  if (!is_primitive_type_name(named.name.text) && kind(1) != TokenKind::kInt) {
    const bool is_array = here == "[T]";
    Diagnostic& problem = slip(brackets, "the arguments of a type stand between `<` and `>`");
    if (is_array) {
      problem.help("an array type is written `[{}]`", inside);
    } else {
      problem.help("write `{}<{}>`", here.empty() ? named.name.text : here, inside);
    }
  } else {
    const std::string_view element = here.empty() ? named.name.text : here;
    slip(brackets, "array types are written with the element type in brackets")
        .help("write `[{}]`, or `[{}; {}]` for a fixed array", element, element, inside);
  }
  while (cursor_.position() <= close && !at(TokenKind::kEnd)) advance();
  return error_type();
}

ast::Type* TypeParser::bracket_type() {
  ast::Type* node = make(TypeKind::kArray, range());
  const SourceRange open = range();
  advance();
  const bool size_first = at(TokenKind::kInt) && kind(1) == TokenKind::kRightBracket;
  if (size_first || at(TokenKind::kRightBracket)) {  // `[]T`, `[3]T`
    const std::string_view size = size_first ? text() : "";
    if (size_first) advance();
    const SourceRange brackets = join(open, range());
    advance();
    node->element = type();
    const std::string_view element = cursor_.text_of(node->element->range);
    Diagnostic& problem = slip(brackets, "array types are written with the element type in brackets");
    if (size_first) {
      problem.help("write `[{}]`, or `[{}; {}]` for a fixed array", element, element, size);
    } else {
      problem.help("write `[{}]`", element);
    }
    return finish(node);
  }
  node->element = type();
  if (accept(TokenKind::kComma)) {
    const bool rank = at(TokenKind::kInt) && state_.stream.integers[token().value].value >= 1 &&
                      state_.stream.integers[token().value].value <= 3;
    if (rank) {
      node->rank = static_cast<std::uint32_t>(state_.stream.integers[token().value].value);
      advance();
    } else {
      error(range(), "expected the number of dimensions, 1, 2 or 3, found {}", found())
          .help(
              "write for example `[f32, 2]`; the sizes are given where the array is made: `[f32, 2](rows, "
              "cols)`");
    }
  } else if (accept(TokenKind::kSemicolon)) {
    node->kind = TypeKind::kFixedArray;
    node->count = parts_.expressions.expression();
    if (!in_panic() && accept(TokenKind::kComma)) node->columns = parts_.expressions.expression();
    if (!in_panic() && at(TokenKind::kComma)) {
      slip(range(), "a fixed array has one dimension or two")
          .help("multiply two of the sizes, and index it with `row * columns + column` there");
      while (accept(TokenKind::kComma)) parts_.expressions.expression();
    }
  }
  if (!accept(TokenKind::kRightBracket)) {
    error(range(), "expected `]` after the array type, found {}", found()).note(open, "it is opened here");
  }
  return finish(node);
}

ast::Type* TypeParser::function_type() {
  ast::Type* node = make(TypeKind::kFunction, range());
  advance();
  if (expect(TokenKind::kLeftParen, "after `fn` in a function type") && !at(TokenKind::kRightParen)) {
    do {
      if (at(TokenKind::kRightParen)) break;
      if (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kColon) {
        slip(join(range(), range(1)), "a function type lists types without names")
            .help("write `fn(i64) -> i64`");
        advance();
        advance();
      }
      node->arguments.push_back(type());
    } while (!in_panic() && accept(TokenKind::kComma));
  }
  if (!in_panic()) expect(TokenKind::kRightParen, "after the parameter types");
  if (!in_panic() && accept(TokenKind::kArrow)) node->element = type();
  return finish(node);
}

std::vector<ast::Type*> TypeParser::type_arguments() {
  std::vector<ast::Type*> list;
  const SourceRange open = range();
  advance();
  do {
    if (at(TokenKind::kGreater)) break;
    list.push_back(type());
  } while (!in_panic() && accept(TokenKind::kComma));
  if (!in_panic() && !cursor_.accept_greater()) {
    error(range(), "expected `>` after the type arguments, found {}", found()).note(open, "they begin here");
  }
  return list;
}

std::vector<ast::TypeParameter> TypeParser::type_parameters() {
  std::vector<ast::TypeParameter> list;
  if (!accept(TokenKind::kLess)) return list;
  do {
    if (at(TokenKind::kGreater)) break;
    ast::TypeParameter parameter;
    parameter.name = expect_name("the name of a type parameter");
    if (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kIdentifier) {  // `T extends Shape`
      slip(range(), "the bound of a type parameter stands behind a colon")
          .help("write `{}: {}`", parameter.name.text, text(1));
      advance();
      parameter.bound = type();
    } else if (accept(TokenKind::kColon)) {
      parameter.bound = type();
    }
    if (!in_panic() && at(TokenKind::kPlus)) {
      error(range(), "a type parameter has at most one bound")
          .help("declare an interface with the methods of both");
    }
    list.push_back(parameter);
  } while (!in_panic() && accept(TokenKind::kComma));
  if (!in_panic() && !cursor_.accept_greater()) {
    error(range(), "expected `>` after the type parameters, found {}", found());
  }
  return list;
}

// At the `i64` of `let x i64 = 3;`.
bool TypeParser::type_without_colon() const {
  if (!at(TokenKind::kIdentifier) || token().first_on_line) return false;
  const std::uint32_t end = end_of_type();
  if (end == TypeScan::kNoType) return false;
  const TokenKind next = cursor_.token_at(end).kind;
  return next == TokenKind::kEqual || next == TokenKind::kSemicolon;
}

// Whether a token probably names a type, here or in another language.
bool TypeParser::is_type_word(const Token& t) const {
  const std::string_view word = cursor_.text_of(t);
  return is_primitive_type_name(word) || !type_for_foreign(word).empty();
}

}  // namespace dhpvm::compiler
