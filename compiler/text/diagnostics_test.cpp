// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/diagnostics.h"

#include <gtest/gtest.h>

namespace dhpvm::compiler {
namespace {

// The range of the first occurrence of `part` in file 0.
SourceRange find(const SourceManager& sources, std::string_view part) {
  const auto begin = static_cast<std::uint32_t>(sources.file(0).text().find(part));
  return {0, begin, begin + static_cast<std::uint32_t>(part.size())};
}

TEST(DiagnosticsTest, SaysNothingAboutNothing) {
  const SourceManager sources;
  const Diagnostics diagnostics(sources);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.render(), "");
}

TEST(DiagnosticsTest, ShowsPlaceLineCaretNotesAndHelp) {
  SourceManager sources;
  sources.add("blur.dhp", "fn f() {\n    let width = 1;\n    let w = wdith + 1;\n}\n");
  Diagnostics diagnostics(sources);
  diagnostics.error(find(sources, "wdith"), "no variable '{}' here", "wdith")
      .mark("not found")
      .note(find(sources, "width"), "'width' is declared here")
      .note("names are case-sensitive")
      .help("write `{}`", "width");
  EXPECT_EQ(diagnostics.render(),
            "blur.dhp:3:13: error: no variable 'wdith' here\n"
            "    3 |     let w = wdith + 1;\n"
            "      |             ^~~~~ not found\n"
            "  blur.dhp:2:9: note: 'width' is declared here\n"
            "    2 |     let width = 1;\n"
            "      |         ^~~~~\n"
            "  note: names are case-sensitive\n"
            "  help: write `width`\n");
}

TEST(DiagnosticsTest, ColoursForTerminals) {
  SourceManager sources;
  sources.add("a.dhp", "x");
  Diagnostics diagnostics(sources);
  diagnostics.warning({0, 0, 1}, "hm");
  EXPECT_EQ(diagnostics.render(true),
            "\x1b[1ma.dhp:1:1: \x1b[0m\x1b[1;35mwarning: \x1b[0m\x1b[1mhm\x1b[0m\n"
            "    1 | x\n"
            "      | \x1b[1;35m^\x1b[0m\n");
  EXPECT_EQ(diagnostics.render(false).find('\x1b'), std::string::npos);
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(DiagnosticsTest, OrdersByPlaceAndDropsDuplicates) {
  SourceManager sources;
  sources.add("a.dhp", "one\ntwo\n");
  Diagnostics diagnostics(sources);
  diagnostics.error({0, 4, 7}, "second");
  diagnostics.error({0, 0, 3}, "first");
  diagnostics.error({0, 4, 7}, "second");
  EXPECT_EQ(diagnostics.render(),
            "a.dhp:1:1: error: first\n    1 | one\n      | ^~~\n"
            "a.dhp:2:1: error: second\n    2 | two\n      | ^~~\n");
}

TEST(DiagnosticsTest, StopsAfterTwenty) {
  SourceManager sources;
  sources.add("a.dhp", std::string(100, 'x'));
  Diagnostics diagnostics(sources);
  for (std::uint32_t i = 0; i < 21; ++i) diagnostics.error({0, i, i + 1}, "number {}", i);
  EXPECT_NE(diagnostics.render().find("number 19"), std::string::npos);
  EXPECT_EQ(diagnostics.render().find("number 20"), std::string::npos);
  EXPECT_TRUE(diagnostics.render().ends_with("\n1 more error\n"));
  for (std::uint32_t i = 21; i < 50; ++i) diagnostics.error({0, i, i + 1}, "number {}", i);
  EXPECT_TRUE(diagnostics.render().ends_with("\n30 more errors\n"));
}

TEST(DiagnosticsTest, BoundsWhatItKeeps) {
  SourceManager sources;
  sources.add("a.dhp", "x");
  Diagnostics diagnostics(sources);
  for (std::size_t i = 0; i < 2 * Diagnostics::kMaxKept; ++i) {
    diagnostics.error({0, 0, 1}, "number {}", i).help("none");
  }
  EXPECT_EQ(diagnostics.all().size(), Diagnostics::kMaxKept);
  EXPECT_TRUE(diagnostics.render().ends_with("\n1980 more errors\n"));
}

std::string snippet_of(std::string text, std::uint32_t begin, std::uint32_t end) {
  SourceManager sources;
  sources.add("a.dhp", std::move(text));
  Diagnostics diagnostics(sources);
  diagnostics.error({0, begin, end}, "e");
  const std::string rendered = diagnostics.render();
  return rendered.substr(rendered.find('\n') + 1);
}

TEST(SnippetTest, ExpandsTabs) {
  EXPECT_EQ(snippet_of("\tx\ty", 3, 4), "    1 |     x   y\n      |         ^\n");
}

TEST(SnippetTest, KnowsWidths) {
  // Two columns each for the ideographs, none for the accent.
  EXPECT_EQ(snippet_of("\"漢字\" + e\u0301 x", 15, 16),
            "    1 | \"漢字\" + e\u0301 x\n      |            ^\n");
  EXPECT_EQ(snippet_of("\"漢字\"", 1, 7), "    1 | \"漢字\"\n      |  ^~~~\n");
}

TEST(SnippetTest, MarksPlacesBehindTheEnd) {
  EXPECT_EQ(snippet_of("let x = 1\n}", 9, 9), "    1 | let x = 1\n      |          ^\n");
  EXPECT_EQ(snippet_of("", 0, 0), "    1 |\n      | ^\n");
}

TEST(SnippetTest, MarksTheFirstLineOfSeveral) {
  EXPECT_EQ(snippet_of("f(a,\n  b)", 1, 9), "    1 | f(a,\n      |  ^~~\n");
}

TEST(SnippetTest, KeepsControlCharactersOffTheTerminal) {
  const std::string text = snippet_of("a\x1b[31m \xff \u202e b", 0, 1);
  EXPECT_EQ(text, "    1 | a?[31m \uFFFD ? b\n      | ^\n");
}

TEST(SnippetTest, CutsLongLines) {
  const std::string line(1'000'000, 'x');
  for (const std::uint32_t at : {0u, 500'000u, 999'999u}) {
    const std::string text = snippet_of(line, at, at + 1);
    EXPECT_LT(text.size(), 600u);
    const std::size_t source_begin = text.find('|');
    const std::size_t caret_begin = text.rfind('|');
    const std::size_t caret = text.find('^');
    ASSERT_NE(caret, std::string::npos);
    EXPECT_EQ(text[source_begin + (caret - caret_begin)], 'x') << text;
  }
}

}  // namespace
}  // namespace dhpvm::compiler
