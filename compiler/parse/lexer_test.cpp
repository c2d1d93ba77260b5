// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/lexer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dhpvm::compiler {
namespace {

struct Lexed {
  explicit Lexed(std::string text) : diagnostics(sources) {
    stream = lex(sources, sources.add("test.dhp", std::move(text)), diagnostics);
  }
  // The tokens' texts, separated by blanks; the end is left out.
  std::string words() const {
    std::string result;
    for (const Token& t : stream.tokens) {
      if (t.kind == TokenKind::kEnd) break;
      if (!result.empty()) result += ' ';
      result += sources.text({0, t.begin, t.end});
    }
    return result;
  }
  std::string error() const { return diagnostics.all().empty() ? "" : diagnostics.all().front().message; }
  std::string help() const {
    const bool none = diagnostics.all().empty() || diagnostics.all().front().helps.empty();
    return none ? "" : diagnostics.all().front().helps.front();
  }

  SourceManager sources;
  Diagnostics diagnostics;
  TokenStream stream;
};

std::uint64_t integer_of(const std::string& text) {
  const Lexed lexed(text);
  EXPECT_FALSE(lexed.diagnostics.has_errors()) << lexed.diagnostics.render();
  EXPECT_EQ(lexed.stream.tokens.at(0).kind, TokenKind::kInt);
  return lexed.stream.integers.at(0).value;
}

double number_of(const std::string& text) {
  const Lexed lexed(text);
  EXPECT_FALSE(lexed.diagnostics.has_errors()) << lexed.diagnostics.render();
  EXPECT_EQ(lexed.stream.tokens.at(0).kind, TokenKind::kFloat) << text;
  return lexed.stream.numbers.at(0).value;
}

std::string string_of(const std::string& text) {
  const Lexed lexed(text);
  EXPECT_FALSE(lexed.diagnostics.has_errors()) << lexed.diagnostics.render();
  EXPECT_EQ(lexed.stream.tokens.at(0).kind, TokenKind::kString);
  return lexed.stream.strings.at(0);
}

TEST(LexerTest, KnowsEveryKeyword) {
  std::size_t count = 0;
#define X(name, text, ...)                                           \
  {                                                                  \
    const Lexed lexed(text);                                         \
    ASSERT_EQ(lexed.stream.tokens.size(), 2u);                       \
    EXPECT_EQ(lexed.stream.tokens[0].kind, TokenKind::name) << text; \
    ++count;                                                         \
  }
  DHPVM_KEYWORDS(X)
  DHPVM_PUNCTUATION(X)
#undef X
  EXPECT_EQ(count, 31u + 49u);
}

TEST(LexerTest, TakesTheLongestPunctuation) {
  EXPECT_EQ(Lexed("a<<=b>>=c>>d>=e>f??g?.h..=i..j.k->l=>m==n=o!p!=q&&r&s").words(),
            "a <<= b >>= c >> d >= e > f ?? g ?. h ..= i .. j . k -> l => m == n = o ! p != q && r & s");
}

TEST(LexerTest, SkipsCommentsAndMarksLines) {
  const Lexed lexed("a // b\n/* c /* d */ e */ f g\n h");
  EXPECT_EQ(lexed.words(), "a f g h");
  EXPECT_TRUE(lexed.stream.tokens[0].first_on_line);
  EXPECT_TRUE(lexed.stream.tokens[1].first_on_line);
  EXPECT_FALSE(lexed.stream.tokens[2].first_on_line);
  EXPECT_TRUE(lexed.stream.tokens[3].first_on_line);
}

TEST(LexerTest, ReadsIntegers) {
  EXPECT_EQ(integer_of("42"), 42u);
  EXPECT_EQ(integer_of("1_000"), 1000u);
  EXPECT_EQ(integer_of("0"), 0u);
  EXPECT_EQ(integer_of("0xFf"), 255u);
  EXPECT_EQ(integer_of("0b101"), 5u);
  EXPECT_EQ(integer_of("0o17"), 15u);
  EXPECT_EQ(integer_of("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(integer_of("0xffff_ffff_ffff_ffff"), UINT64_MAX);
}

TEST(LexerTest, ReadsSuffixes) {
  const Lexed lexed("5u8 1i32 0xffi64 7");
  EXPECT_EQ(lexed.words(), "5u8 1i32 0xffi64 7");
  EXPECT_EQ(lexed.stream.integers[0].suffix, "u8");
  EXPECT_EQ(lexed.stream.integers[1].suffix, "i32");
  EXPECT_EQ(lexed.stream.integers[2].suffix, "i64");
  EXPECT_EQ(lexed.stream.integers[2].value, 255u);
  EXPECT_EQ(lexed.stream.integers[3].suffix, "");
  EXPECT_EQ(Lexed("1f32").stream.numbers.at(0).suffix, "f32");
}

TEST(LexerTest, ReadsFloats) {
  EXPECT_EQ(number_of("1.5"), 1.5);
  EXPECT_EQ(number_of("1e-3"), 1e-3);
  EXPECT_EQ(number_of("1_0.2_5E+2"), 1025.0);
  EXPECT_EQ(number_of("2.0f32"), 2.0);
  EXPECT_EQ(number_of("0.1"), 0.1);
  EXPECT_EQ(number_of("1e-400"), 0.0) << "too small is zero, as everywhere";
  EXPECT_EQ(number_of("1.7976931348623157e308"), 1.7976931348623157e308);
}

TEST(LexerTest, LeavesRangesAndMembersOfNumbersAlone) {
  EXPECT_EQ(Lexed("0..n 1.max 2.5.x 1..=2").words(), "0 .. n 1 . max 2.5 . x 1 ..= 2");
}

TEST(LexerTest, RefusesBadNumbers) {
  EXPECT_EQ(Lexed("18446744073709551616").error(), "this number is larger than any integer type holds");
  EXPECT_EQ(Lexed("1e309").error(), "this number is larger than an f64 holds");
  EXPECT_EQ(Lexed("0b12").error(), "`2` is no digit in base 2");
  EXPECT_EQ(Lexed("0x").error(), "there are no digits after `0x`");
  EXPECT_EQ(Lexed("017").help(), "write `0o17` for the octal number, `17` for the decimal one");
  EXPECT_EQ(Lexed("10L").help(), "write `10i64`");
  EXPECT_EQ(Lexed("1.5f").help(), "write `1.5f32`");
  EXPECT_EQ(Lexed("1.5i32").error(), "`i32` is no suffix for a number with a fraction");
}

TEST(LexerTest, ReadsStrings) {
  EXPECT_EQ(string_of("\"\""), "");
  EXPECT_EQ(string_of(R"("a\n\t\r\\\"\'b")"), "a\n\t\r\\\"'b");
  EXPECT_EQ(string_of(R"("\0")"), std::string(1, '\0'));
  EXPECT_EQ(string_of(R"("\x41\xff")"), "A\xff");
  EXPECT_EQ(string_of(R"("\u{20ac}\u{1F600}é")"), "€😀é");
  EXPECT_EQ(string_of(R"("{x}")"), "{x}") << "braces mean something in f-strings only";
}

TEST(LexerTest, ReadsRawStringsAndThoseOfSeveralLines) {
  EXPECT_EQ(string_of(R"(r"a\n\")"), "a\\n\\");
  EXPECT_EQ(string_of("\"\"\"\"\"\""), "");
  EXPECT_EQ(string_of("\"\"\"a\\tb\"\"\""), "a\tb");
  EXPECT_EQ(string_of("r\"\"\"a\\tb\"\"\""), "a\\tb");
  EXPECT_EQ(string_of("\"\"\"\n  a\n    b\n\n  \"\"\""), "a\n  b\n");
  EXPECT_EQ(string_of("\"\"\"\r\n  a\r\n b\r\n  \"\"\""), "a\nb");
  EXPECT_EQ(string_of("\"\"\"\n\"\"\""), "");
  EXPECT_EQ(string_of("\"\"\"\n\n\"\"\""), "");
  EXPECT_EQ(string_of("\"\"\"\n\n\n\"\"\""), "\n");
  EXPECT_EQ(string_of("\"\"\"a\\\"\"\"\""), "a\"") << "an escaped quote is none of the three";
  for (const char* text : {"\"\"\"", "\"\"\"a\\", "\"\"\"a\"\"", "\"\"\"\\\n\"\"\"", "r\"\"\"\n", "r\"a"})
    EXPECT_TRUE(Lexed(text).diagnostics.has_errors()) << text;
}

TEST(LexerTest, ReadsBytes) {
  EXPECT_EQ(Lexed("'a'").stream.tokens[0].value, 97u);
  EXPECT_EQ(Lexed(R"('\n')").stream.tokens[0].value, 10u);
  EXPECT_EQ(Lexed(R"('\'')").stream.tokens[0].value, 39u);
  EXPECT_EQ(Lexed(R"('\xff')").stream.tokens[0].value, 255u);
}

TEST(LexerTest, RefusesBadStringsAndBytes) {
  EXPECT_EQ(Lexed("\"abc").error(), "this string is not closed before the line ends");
  EXPECT_EQ(Lexed(R"("\q")").error(), "unknown escape `\\q`");
  EXPECT_EQ(Lexed(R"("\x4")").error(), "`\\x` needs two hexadecimal digits");
  EXPECT_EQ(Lexed(R"("\u20ac")").error(), "`\\u` needs a code point in braces");
  EXPECT_EQ(Lexed(R"("\u{d800}")").error(), "`\\u{d800}` is not a Unicode code point");
  EXPECT_EQ(Lexed("''").error(), "there is no character between these quotes");
  EXPECT_EQ(Lexed("'hello'").help(), "write `\"hello\"` for a string");
  EXPECT_EQ(Lexed("'é'").help(), "write the string `\"é\"`, or its code point `0xe9`");
  const Lexed open("it's = 1;");
  EXPECT_EQ(open.error(), "this `'` is not closed");
  EXPECT_EQ(open.words(), "it ' s = 1 ;") << "what follows is still code";
}

TEST(LexerTest, SplitsFormattedStrings) {
  using enum TokenKind;
  const Lexed lexed(R"(f"a{{b}} {x + f(y: {1}):8.3f}{z}")");
  EXPECT_FALSE(lexed.diagnostics.has_errors()) << lexed.diagnostics.render();
  std::vector<TokenKind> kinds;
  for (const Token& t : lexed.stream.tokens) kinds.push_back(t.kind);
  const std::vector<TokenKind> expected{kFormatBegin, kFormatText, kFormatOpen,  kIdentifier, kPlus,
                                        kIdentifier,  kLeftParen,  kIdentifier,  kColon,      kLeftBrace,
                                        kInt,         kRightBrace, kRightParen,  kFormatSpec, kFormatClose,
                                        kFormatOpen,  kIdentifier, kFormatClose, kFormatEnd,  kEnd};
  EXPECT_EQ(kinds, expected);
  EXPECT_EQ(lexed.stream.strings.at(0), "a{b} ");
}

TEST(LexerTest, NestsFormattedStrings) {
  const Lexed lexed(R"(f"{f"{"x"}"}" y)");
  EXPECT_FALSE(lexed.diagnostics.has_errors()) << lexed.diagnostics.render();
  EXPECT_EQ(lexed.stream.tokens.at(lexed.stream.tokens.size() - 2).kind, TokenKind::kIdentifier);
}

TEST(LexerTest, ClosesBrokenFormattedStringsAtTheLineEnd) {
  for (const char* text : {"f\"a {x", "f\"a {x \"", "f\"{x:3", "f\"{x:3\"", "f\"abc", "f\"{f\"{"}) {
    const Lexed lexed(std::string(text) + "\nnext");
    EXPECT_TRUE(lexed.diagnostics.has_errors()) << text;
    const std::vector<Token>& tokens = lexed.stream.tokens;
    EXPECT_TRUE(tokens.at(tokens.size() - 2).first_on_line) << text;
    int open = 0;
    for (const Token& t : tokens) {
      if (t.kind == TokenKind::kFormatBegin || t.kind == TokenKind::kFormatOpen) ++open;
      if (t.kind == TokenKind::kFormatEnd || t.kind == TokenKind::kFormatClose) --open;
    }
    EXPECT_EQ(open, 0) << text;
  }
}

TEST(LexerTest, ExplainsForeignCharacters) {
  EXPECT_EQ(Lexed("“x”").help(), "write `\"`");
  EXPECT_EQ(Lexed("größe").error(), "`größe` is not a name in this language");
  EXPECT_EQ(Lexed("größe").words(), "größe");
  EXPECT_EQ(Lexed("a\u00a0b").error(), "an invisible character (U+00A0) in the source");
  EXPECT_EQ(Lexed(std::string("a\0b", 3)).error(), "a control character (code 0) in the source");
  EXPECT_EQ(Lexed("#include <x>").help(), "write `import name;` to use another file or module");
  EXPECT_EQ(Lexed("a \xff b").error(), "this is not UTF-8 text");
  EXPECT_EQ(Lexed("/* /* */").error(), "this comment is not closed");
  EXPECT_EQ(Lexed("\xEF\xBB\xBFx").words(), "x") << "a byte order mark is no part of the text";
}

}  // namespace
}  // namespace dhpvm::compiler
