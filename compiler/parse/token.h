// SPDX-License-Identifier: Apache-2.0
// The words of a file, as the lexer hands them to the parser.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/statement_kinds.h"

namespace dhpvm::compiler {

// The position of a keyword: at the start of a statement, at the start of a declaration, or within others. Recovery
// continues at those that start something. `const` is within, because it may be misplaced anywhere.
enum class KeywordRole : std::uint8_t { kNone, kStatement, kDeclaration, kWithin };

// X(enumerator, text, role, ...): keywords. Those of statement_kinds.h have more columns.
#define DHPVM_KEYWORDS(X)                  \
  X(kAs, "as", kWithin)                    \
  X(kCatch, "catch", kWithin)              \
  X(kClass, "class", kDeclaration)         \
  X(kConst, "const", kWithin)              \
  X(kElse, "else", kWithin)                \
  X(kEnum, "enum", kDeclaration)           \
  X(kExtern, "extern", kDeclaration)       \
  X(kFalse, "false", kWithin)              \
  X(kFn, "fn", kDeclaration)               \
  X(kFor, "for", kStatement)               \
  X(kImport, "import", kDeclaration)       \
  X(kIn, "in", kWithin)                    \
  X(kInit, "init", kWithin)                \
  X(kInterface, "interface", kDeclaration) \
  X(kIntrinsic, "intrinsic", kDeclaration) \
  X(kIs, "is", kWithin)                    \
  X(kNull, "null", kWithin)                \
  X(kParallel, "parallel", kStatement)     \
  X(kStruct, "struct", kDeclaration)       \
  X(kThis, "this", kWithin)                \
  X(kTrue, "true", kWithin)                \
  X(kTry, "try", kStatement)               \
  DHPVM_WORD_STATEMENTS(X)

// X(enumerator, text): punctuation. The lexer takes the longest that fits.
#define DHPVM_PUNCTUATION(X)   \
  X(kLeftParen, "(")           \
  X(kRightParen, ")")          \
  X(kLeftBrace, "{")           \
  X(kRightBrace, "}")          \
  X(kLeftBracket, "[")         \
  X(kRightBracket, "]")        \
  X(kComma, ",")               \
  X(kSemicolon, ";")           \
  X(kColon, ":")               \
  X(kDot, ".")                 \
  X(kDotDot, "..")             \
  X(kDotDotEqual, "..=")       \
  X(kQuestion, "?")            \
  X(kQuestionDot, "?.")        \
  X(kQuestionQuestion, "??")   \
  X(kBang, "!")                \
  X(kBangEqual, "!=")          \
  X(kEqual, "=")               \
  X(kEqualEqual, "==")         \
  X(kFatArrow, "=>")           \
  X(kArrow, "->")              \
  X(kPlus, "+")                \
  X(kPlusEqual, "+=")          \
  X(kMinus, "-")               \
  X(kMinusEqual, "-=")         \
  X(kStar, "*")                \
  X(kStarEqual, "*=")          \
  X(kSlash, "/")               \
  X(kSlashEqual, "/=")         \
  X(kPercent, "%")             \
  X(kPercentEqual, "%=")       \
  X(kAmpersand, "&")           \
  X(kAmpersandEqual, "&=")     \
  X(kAmpersandAmpersand, "&&") \
  X(kPipe, "|")                \
  X(kPipeEqual, "|=")          \
  X(kPipePipe, "||")           \
  X(kCaret, "^")               \
  X(kCaretEqual, "^=")         \
  X(kTilde, "~")               \
  X(kLess, "<")                \
  X(kLessEqual, "<=")          \
  X(kShiftLeft, "<<")          \
  X(kShiftLeftEqual, "<<=")    \
  X(kGreater, ">")             \
  X(kGreaterEqual, ">=")       \
  X(kShiftRight, ">>")         \
  X(kShiftRightEqual, ">>=")   \
  X(kAt, "@")

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,
  kInt,          // value: index into TokenStream::integers
  kByte,         // 'a'; value: the byte
  kFloat,        // value: index into TokenStream::numbers
  kString,       // value: index into TokenStream::strings
  kFormatBegin,  // f"          then any of:
  kFormatText,   //   text      value: index into TokenStream::strings
  kFormatOpen,   //   {         the tokens of an expression, then perhaps a kFormatSpec, then
  kFormatSpec,   //   :8.3f     range without the colon; two around a number in braces, as in {x:>{w}f}
  kFormatClose,  //   }
  kFormatEnd,    // "           also where an unterminated one breaks off
  kError,        // reported already; stands where an expression could
#define X(name, ...) name,
  DHPVM_KEYWORDS(X) DHPVM_PUNCTUATION(X)
#undef X
};

// kNone if the token is not a keyword.
constexpr KeywordRole role_of(TokenKind kind) {
  switch (kind) {
#define X(name, text, role, ...) \
  case TokenKind::name: return KeywordRole::role;
    DHPVM_KEYWORDS(X)
#undef X
    default: return KeywordRole::kNone;
  }
}
constexpr bool is_keyword(TokenKind kind) { return role_of(kind) != KeywordRole::kNone; }
constexpr bool begins_statement(TokenKind kind) { return role_of(kind) == KeywordRole::kStatement; }
constexpr bool begins_declaration(TokenKind kind) { return role_of(kind) == KeywordRole::kDeclaration; }

// "identifier", "`while`", "`+=`", "a number": for messages.
std::string_view describe(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool first_on_line = false;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t value = 0;
};

// The tokens of a file; the last is kEnd.
struct TokenStream {
  struct Integer {
    std::uint64_t value = 0;
    std::string_view suffix;  // "u8", or empty; points into the source
  };
  struct Number {
    double value = 0;
    std::string_view suffix;
  };

  std::vector<Token> tokens;
  std::vector<Integer> integers;
  std::vector<Number> numbers;
  std::vector<std::string> strings;
};

}  // namespace dhpvm::compiler
