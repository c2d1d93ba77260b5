// SPDX-License-Identifier: Apache-2.0
// What the lexer hands to the parser: the words of a file.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dhpvm::compiler {

// X(enumerator, text): keywords.
#define DHPVM_KEYWORDS(X)    \
  X(kAs, "as")               \
  X(kBreak, "break")         \
  X(kClass, "class")         \
  X(kConst, "const")         \
  X(kContinue, "continue")   \
  X(kElse, "else")           \
  X(kExtern, "extern")       \
  X(kFalse, "false")         \
  X(kFn, "fn")               \
  X(kFor, "for")             \
  X(kIf, "if")               \
  X(kImport, "import")       \
  X(kIn, "in")               \
  X(kInit, "init")           \
  X(kInterface, "interface") \
  X(kIntrinsic, "intrinsic") \
  X(kIs, "is")               \
  X(kLet, "let")             \
  X(kMatch, "match")         \
  X(kNull, "null")           \
  X(kParallel, "parallel")   \
  X(kReturn, "return")       \
  X(kStruct, "struct")       \
  X(kThis, "this")           \
  X(kTrue, "true")           \
  X(kUse, "use")             \
  X(kVar, "var")             \
  X(kWhile, "while")

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
  kFormatSpec,   //   :8.3f     range without the colon
  kFormatClose,  //   }
  kFormatEnd,    // "           also where an unterminated one breaks off
  kError,        // something that has been reported; stands where an expression could
#define X(name, text) name,
  DHPVM_KEYWORDS(X) DHPVM_PUNCTUATION(X)
#undef X
};

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
