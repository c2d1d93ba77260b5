// SPDX-License-Identifier: Apache-2.0
#include "compiler/format/format.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/format/pieces.h"
#include "compiler/parse/lexer.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {
namespace {

std::string formatted(std::string_view source) {
  const Result<std::string> result = format(source, "test.dhp");
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok() ? *result : "";
}

TEST(Format, BlanksStandWhereTheStyleHasThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"fn f ( a:i64 ,b : [ f64,2 ] )->i64{return a+ -1;}",
       "fn f(a: i64, b: [f64, 2]) -> i64 { return a + -1; }"},
      {"fn f() { x=-a*b ;y+=1; }", "fn f() { x = -a * b; y += 1; }"},
      {"fn f() { for i in 10 .. 0 step -1 { } }", "fn f() { for i in 10..0 step -1 {} }"},
      {"fn f() { let a = b as i64<3 ; }",
       "fn f() { let a = b as i64<3; }"},  // types and comparisons: as written
      {"class A:B{ n : i64 ; }", "class A : B { n: i64; }"},
      {"fn f() { if(a){ return-x; } let step=1; y = a*(step-1); }",
       "fn f() { if (a) { return -x; } let step = 1; y = a * (step - 1); }"},
      {"fn f() -> i64! { let a = try g ( ) ; return a ?? 1; }",
       "fn f() -> i64! { let a = try g(); return a ?? 1; }"},
      {"fn f() { @fastmath  parallel for i in 0..n {} }", "fn f() { @fastmath parallel for i in 0..n {} }"},
      {"fn f() { print( f\"{a :3}  {b}\" ); }", "fn f() { print(f\"{a :3}  {b}\"); }"},
      {"fn f() {}   // why  so", "fn f() {}   // why  so"},
      {"fn f() { g(/* all */ 1); }", "fn f() { g(/* all */ 1); }"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(formatted(source), std::string(expected) + "\n");
}

TEST(Format, LinesAreIndentedByWhatTheyStandIn) {
  EXPECT_EQ(formatted(R"(
fn f(a: i64,
  b: i64)
{
let x = a +
b;
        let y = g(
a,
b
);
    let z = h(a,
      b);


    xs.each(fn(i) {
print(i);
    });
if a { b(); c(); }
    if a {
        b(); c(); }
    else {
match d {
1 => e();
else => {
} }
@device( "sim" )
parallel for i in 0..n,
j in 0..m { a[i, j] = 1; }
}

}
)"),
            R"(fn f(a: i64,
     b: i64) {
    let x = a +
        b;
    let y = g(
        a,
        b
    );
    let z = h(a,
              b);

    xs.each(fn(i) {
        print(i);
    });
    if a { b(); c(); }
    if a {
        b();
        c();
    } else {
        match d {
            1 => e();
            else => {}
        }
        @device("sim")
        parallel for i in 0..n,
            j in 0..m { a[i, j] = 1; }
    }
}
)");
}

TEST(Format, LineEndsOfWindowsAndTabsGo) {
  EXPECT_EQ(formatted("fn f() {\r\n\treturn;\t \r\n}\r\n\r\n"), "fn f() {\n    return;\n}\n");
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted("\n\n// only this"), "// only this\n");
}

TEST(Format, AWrongFileIsAnError) {
  const Result<std::string> result = format("fn f( { }", "wrong.dhp");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kCompile);
  EXPECT_NE(result.error().message().find("wrong.dhp:1"), std::string::npos) << result.error().message();
}

// Whether the blanks between two tokens can change without changing the tokens.
bool is_free(const Piece& left, const Piece& right) {
  using K = TokenKind;
  const auto is_name = [](const Piece& piece) { return piece.is(K::kIdentifier) && piece.text != "step"; };
  const auto is_mark = [](const Piece& piece) {
    return piece.is(K::kComma) || piece.is(K::kSemicolon) || piece.is(K::kLeftBrace) ||
           piece.is(K::kRightBrace) || piece.is(K::kRightParen) || piece.is(K::kEqual) ||
           piece.is(K::kEqualEqual) || piece.is(K::kFatArrow) || piece.is(K::kPlusEqual) ||
           piece.is(K::kPlus) || piece.is(K::kPercent) || piece.is(K::kAmpersandAmpersand);
  };
  const auto is_if = [](const Piece& piece) {
    return piece.is(K::kIf) || piece.is(K::kWhile) || piece.is(K::kMatch);
  };
  return (is_name(left) && (is_mark(right) || right.is(K::kLeftParen))) ||
         (is_mark(left) && is_name(right)) || (is_if(left) && right.is(K::kLeftParen));
}

// The text with random blanks where they have no meaning.
std::string disturbed(const std::string& text, std::mt19937_64& random) {
  SourceManager sources;
  const std::uint32_t file = sources.add("test.dhp", text);
  Diagnostics diagnostics(sources);
  std::string out;
  const std::vector<Piece> pieces = pieces_of(sources.file(file).text(), lex(sources, file, diagnostics));
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    const Piece& piece = pieces[n];
    const bool is_behind_code = piece.is_comment() && piece.line_ends == 0;
    if (piece.line_ends > 0) {
      out += std::string(random() % 3, ' ');
      // At most one blank line is kept.
      out += std::string(piece.line_ends == 1 ? 1 : 2 + random() % 3, '\n');
      out += std::string(random() % 30, random() % 4 == 0 ? '\t' : ' ');
    } else if (n > 0 && is_free(pieces[n - 1], piece)) {
      out += std::string(random() % 3, ' ');
    } else if (piece.blanks > 0) {
      out += std::string(is_behind_code ? piece.blanks : 1 + random() % 4, ' ');
    }
    out += piece.text;
  }
  return out;
}

TEST(Format, EveryProgramComesOutTheSameWhateverItsBlanks) {
  std::mt19937_64 random(1);
  std::size_t files = 0;
  for (const char* folder : {"stdlib", "samples", "bench/programs", "tests/programs"}) {
    const std::filesystem::path path = std::filesystem::path(DHPVM_SOURCE_FOLDER) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.path().extension() != ".dhp") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string source{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      const Result<std::string> once = format(source, entry.path().string());
      if (!once.ok()) {
        ASSERT_EQ(once.error().code(), ErrorCode::kCompile) << once.error().to_string();
        EXPECT_NE(source.find("// expect error:"), source.npos) << once.error().to_string();
        continue;
      }
      ++files;
      EXPECT_EQ(formatted(*once), *once) << entry.path();
      const std::string changed = disturbed(*once, random);
      EXPECT_EQ(formatted(changed), *once) << entry.path() << " from\n" << changed;
    }
  }
  EXPECT_GT(files, 300u);
}

}  // namespace
}  // namespace dhpvm::compiler
