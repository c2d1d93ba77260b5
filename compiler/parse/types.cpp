// SPDX-License-Identifier: Apache-2.0
// Types, and the look-ahead that tells type arguments from comparisons.
#include "compiler/parse/parser_impl.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::TypeKind;

ast::Type* Parser::type(TypePlace place) {
  const Level level(*this);
  if (!level.ok) return error_type();
  ast::Type* result = base_type(place);
  // `T[]`, as other languages write arrays.
  while (at(TokenKind::kLeftBracket) && kind(1) == TokenKind::kRightBracket &&
         place == TypePlace::kDeclaration) {
    const SourceRange brackets = join(range(), range(1));
    advance();
    advance();
    const std::string_view element =
        source_.substr(result->range.begin, result->range.end - result->range.begin);
    slip(brackets, "array types are written with the element type in brackets").help("write `[{}]`", element);
    ast::Type* array = make(TypeKind::kArray, result->range);
    array->element = result;
    result = finish(array);
  }
  if (at(TokenKind::kQuestion)) {
    ast::Type* nullable = make(TypeKind::kNullable, result->range);
    nullable->element = result;
    advance();
    result = finish(nullable);
  }
  return result;
}

ast::Type* Parser::base_type(TypePlace place) {
  switch (kind()) {
    case TokenKind::kIdentifier: return named_type(place);
    case TokenKind::kLeftBracket: return bracket_type();
    case TokenKind::kFn: return function_type();
    case TokenKind::kLeftParen: {
      const SourceRange begin = range();
      advance();
      if (at(TokenKind::kRightParen)) {
        error(join(begin, range()), "there is no empty type")
            .help("leave the result type out: `fn f() {{ }}`");
        return error_type();
      }
      ast::Type* inner = type();
      if (at(TokenKind::kComma)) {
        error(range(), "there are no tuples")
            .help("declare a struct: `struct Pair {{ first: A; second: B; }}`");
        return inner;
      }
      expect(TokenKind::kRightParen, "after the type");
      return inner;
    }
    case TokenKind::kAmpersand:
    case TokenKind::kStar:
      slip(range(), "there are no pointer or reference types")
          .help("remove the `{}`: arrays and classes are references already, the rest is copied", text());
      advance();
      return type(place);
    case TokenKind::kNull:
      error(range(), "`null` is a value, not a type").help("write `T?` for a type that may be null");
      return error_type();
    default: error(range(), "expected a type, found {}", found()); return error_type();
  }
}

ast::Type* Parser::named_type(TypePlace place) {
  ast::Type* node = make(TypeKind::kNamed, range());
  node->name = take_name();
  if (at(TokenKind::kDot) && kind(1) == TokenKind::kIdentifier) {
    advance();
    node->qualifier = node->name;
    node->name = take_name();
  }
  const bool arguments = at(TokenKind::kLess) &&
                         (place == TypePlace::kDeclaration || (!is_primitive_type_name(node->name.text) &&
                                                               end_of_type_arguments(pos_) != kNoType));
  if (arguments) node->arguments = type_arguments();
  return finish(node);
}

ast::Type* Parser::bracket_type() {
  ast::Type* node = make(TypeKind::kArray, range());
  const SourceRange open = range();
  advance();
  node->element = type();
  if (accept(TokenKind::kComma)) {
    const bool rank = at(TokenKind::kInt) && stream_.integers[token().value].value >= 1 &&
                      stream_.integers[token().value].value <= 3;
    if (rank) {
      node->rank = static_cast<std::uint32_t>(stream_.integers[token().value].value);
      advance();
    } else {
      error(range(), "expected the number of dimensions, 1, 2 or 3, found {}", found())
          .help(
              "write for example `[f32, 2]`; the sizes are given where the array is made: `[f32, 2](rows, "
              "cols)`");
    }
  } else if (accept(TokenKind::kSemicolon)) {
    node->kind = TypeKind::kFixedArray;
    node->count = expression();
  }
  if (!accept(TokenKind::kRightBracket)) {
    error(range(), "expected `]` after the array type, found {}", found()).note(open, "it is opened here");
  }
  return finish(node);
}

ast::Type* Parser::function_type() {
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
    } while (!panic_ && accept(TokenKind::kComma));
  }
  if (!panic_) expect(TokenKind::kRightParen, "after the parameter types");
  if (!panic_ && accept(TokenKind::kArrow)) node->element = type();
  return finish(node);
}

std::vector<ast::Type*> Parser::type_arguments() {
  std::vector<ast::Type*> list;
  const SourceRange open = range();
  advance();
  do {
    if (at(TokenKind::kGreater)) break;
    list.push_back(type());
  } while (!panic_ && accept(TokenKind::kComma));
  if (!panic_ && !accept_greater()) {
    error(range(), "expected `>` after the type arguments, found {}", found()).note(open, "they begin here");
  }
  return list;
}

std::vector<ast::TypeParameter> Parser::type_parameters() {
  std::vector<ast::TypeParameter> list;
  if (!accept(TokenKind::kLess)) return list;
  do {
    if (at(TokenKind::kGreater)) break;
    ast::TypeParameter parameter;
    parameter.name = expect_name("the name of a type parameter");
    if (accept(TokenKind::kColon)) parameter.bound = type();
    if (!panic_ && at(TokenKind::kPlus)) {
      error(range(), "a type parameter has at most one bound")
          .help("declare an interface with the methods of both");
    }
    list.push_back(parameter);
  } while (!panic_ && accept(TokenKind::kComma));
  if (!panic_ && !accept_greater()) {
    error(range(), "expected `>` after the type parameters, found {}", found());
  }
  return list;
}

// At the `i64` of `let x i64 = 3;`.
bool Parser::type_without_colon() const {
  if (!at(TokenKind::kIdentifier) || token().first_on_line) return false;
  const std::uint32_t end = end_of_type(pos_);
  if (end == kNoType) return false;
  const TokenKind next = stream_.tokens[end].kind;
  return next == TokenKind::kEqual || next == TokenKind::kSemicolon;
}

// Whether a token names a type, here or in another language, in all likelihood.
bool Parser::is_type_word(const Token& t) const {
  const std::string_view word = source_.substr(t.begin, t.end - t.begin);
  return is_primitive_type_name(word) || !type_for_foreign(word).empty();
}

// ------------------------------------------------------------------------------------------- look-ahead

namespace {
// No type that a person writes has more tokens. The bound keeps `a<a<a<a<...` from taking quadratic time.
constexpr std::uint32_t kScanBudget = 256;
}  // namespace

std::uint32_t Parser::end_of_type(std::uint32_t index) const {
  Scan scan{index, 0, kScanBudget};
  return scan_type(scan) && scan.halves == 0 ? scan.index : kNoType;
}

std::uint32_t Parser::end_of_type_arguments(std::uint32_t index) const {
  Scan scan{index, 0, kScanBudget};
  return scan_type_arguments(scan) && scan.halves == 0 ? scan.index : kNoType;
}

TokenKind Parser::scan_kind(const Scan& scan) const {
  const Token& t = stream_.tokens[std::min<std::size_t>(scan.index, stream_.tokens.size() - 1)];
  if (scan.halves == 0) return t.kind;
  return t.kind == TokenKind::kShiftRight ? TokenKind::kGreater : TokenKind::kEnd;
}

bool Parser::scan_greater(Scan& scan) const {
  const Token& t = stream_.tokens[std::min<std::size_t>(scan.index, stream_.tokens.size() - 1)];
  if (t.kind == TokenKind::kShiftRight && scan.halves == 0) {
    scan.halves = 1;
    return true;
  }
  if (scan_kind(scan) != TokenKind::kGreater) return false;
  scan.halves = 0;
  ++scan.index;
  return true;
}

bool Parser::scan_type(Scan& scan) const {
  if (scan.budget == 0) return false;
  --scan.budget;
  const auto take = [&](TokenKind k) {
    if (scan_kind(scan) != k) return false;
    ++scan.index;
    return true;
  };
  if (take(TokenKind::kIdentifier)) {
    if (scan_kind(scan) == TokenKind::kDot) {
      ++scan.index;
      if (!take(TokenKind::kIdentifier)) return false;
    }
    if (scan_kind(scan) == TokenKind::kLess && !scan_type_arguments(scan)) return false;
  } else if (take(TokenKind::kLeftBracket)) {
    if (!scan_type(scan) || scan.halves != 0) return false;
    if (take(TokenKind::kComma) && !take(TokenKind::kInt)) return false;
    if (take(TokenKind::kSemicolon)) {
      // The count is any expression; jump over it.
      while (scan_kind(scan) != TokenKind::kRightBracket) {
        if (scan.budget == 0 || scan_kind(scan) == TokenKind::kEnd) return false;
        --scan.budget;
        ++scan.index;
      }
    }
    if (!take(TokenKind::kRightBracket)) return false;
  } else if (take(TokenKind::kFn)) {
    if (!take(TokenKind::kLeftParen)) return false;
    while (scan_kind(scan) != TokenKind::kRightParen) {
      if (!scan_type(scan) || scan.halves != 0) return false;
      if (!take(TokenKind::kComma)) break;
    }
    if (!take(TokenKind::kRightParen)) return false;
    if (take(TokenKind::kArrow)) return scan_type(scan);
  } else if (take(TokenKind::kLeftParen)) {
    if (!scan_type(scan) || scan.halves != 0 || !take(TokenKind::kRightParen)) return false;
  } else {
    return false;
  }
  if (scan.halves == 0) take(TokenKind::kQuestion);
  return true;
}

bool Parser::scan_type_arguments(Scan& scan) const {
  ++scan.index;  // the `<`
  for (;;) {
    if (!scan_type(scan)) return false;
    if (scan.halves != 0) break;
    if (scan_kind(scan) != TokenKind::kComma) break;
    ++scan.index;
  }
  return scan_greater(scan);
}

}  // namespace dhpvm::compiler
