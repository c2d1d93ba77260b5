// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/source.h"

#include <gtest/gtest.h>

namespace dhpvm::compiler {
namespace {

TEST(SourceTest, FindsLinesAndColumns) {
  const SourceFile file("a.dhp", "one\ntwo\n\nfour");
  EXPECT_EQ(file.line_count(), 4u);
  EXPECT_EQ(file.position(0).line, 1u);
  EXPECT_EQ(file.position(2).column, 3u);
  EXPECT_EQ(file.position(3).line, 1u) << "a line end belongs to its line";
  EXPECT_EQ(file.position(4).line, 2u);
  EXPECT_EQ(file.position(8).line, 3u);
  EXPECT_EQ(file.position(9).line, 4u);
  EXPECT_EQ(file.position(1000).line, 4u);
  EXPECT_EQ(file.position(1000).column, 5u);
  EXPECT_EQ(file.line(2), "two");
  EXPECT_EQ(file.line(3), "");
  EXPECT_EQ(file.line(4), "four");
  EXPECT_EQ(file.line(0), "");
  EXPECT_EQ(file.line(5), "");
}

TEST(SourceTest, CountsCodePoints) {
  const SourceFile file("a.dhp", "\"é€\" x");
  EXPECT_EQ(file.position(8).column, 6u);
}

// Columns are counted from marks inside a line, not from its start.
TEST(SourceTest, CountsCodePointsOfLongLines) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += i % 3 == 0 ? "é" : i % 3 == 1 ? "a" : "€";
  text += "\nend";
  const SourceFile file("a.dhp", text);
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  for (std::uint32_t offset = 0; offset <= text.size(); ++offset) {
    const bool continues = offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
    // An offset inside a code point counts as after it.
    EXPECT_EQ(file.position(offset).line, line) << offset;
    EXPECT_EQ(file.position(offset).column, column) << offset;
    if (offset == text.size()) break;
    if (!continues) ++column;
    if (text[offset] == '\n') {
      ++line;
      column = 1;
    }
  }
}

TEST(SourceTest, LeavesOutCarriageReturns) {
  const SourceFile file("a.dhp", "one\r\ntwo\r\n");
  EXPECT_EQ(file.line(1), "one");
  EXPECT_EQ(file.line(2), "two");
}

TEST(SourceTest, KeepsTextsInPlace) {
  SourceManager sources;
  const std::uint32_t first = sources.add("a", "let");
  const std::string_view view = sources.file(first).text();
  for (int i = 0; i < 1000; ++i) sources.add("b", "x");
  EXPECT_EQ(view.data(), sources.file(first).text().data());
  EXPECT_EQ(sources.text({first, 0, 3}), "let");
}

}  // namespace
}  // namespace dhpvm::compiler
