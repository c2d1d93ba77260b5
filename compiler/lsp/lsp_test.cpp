// SPDX-License-Identifier: Apache-2.0
// Components that need no client: framing, positions, names of documents, offsets in older texts.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/lsp/documents.h"
#include "compiler/lsp/message_reader.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"
#include "compiler/lsp/version.h"
#include "compiler/lsp/view.h"

namespace dhpvm::compiler::lsp {
namespace {

TEST(MessageReaderTest, FindsMessagesHoweverTheyArrive) {
  const std::string stream = framed("{}") + "content-length: 3\r\nContent-Type: x\r\n\r\nabc" + framed("");
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    MessageReader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.add(std::string_view(stream).substr(at, step));
      for (;;) {
        auto message = reader.next();
        ASSERT_TRUE(message.ok());
        if (!message->has_value()) break;
        found.push_back(**message);
      }
    }
    EXPECT_EQ(found, (std::vector<std::string>{"{}", "abc", ""}));
  }
}

TEST(MessageReaderTest, RefusesWhatIsNoMessage) {
  for (const std::string& bytes :
       {std::string("Content-Length: 1x\r\n\r\n"), std::string("Content-Length: -1\r\n\r\n"),
        std::string("Content-Length:\r\n\r\n"), std::string("Content-Length: 67108865\r\n\r\n"),
        std::string("Content-Length: 18446744073709551616\r\n\r\n"), std::string("Length: 1\r\n\r\n"),
        std::string("nothing\r\n\r\n"), std::string("\r\n\r\n"),
        std::string(MessageReader::kMaxHeader + 1, 'x')}) {
    MessageReader reader;
    reader.add(bytes);
    EXPECT_FALSE(reader.next().ok()) << bytes.substr(0, 50);
  }
}

TEST(PositionsTest, CountUnitsOfUtf16) {
  const SourceFile file("f", "a\u00e9\U0001d11ex\r\n\nlast");
  const auto place = [](std::uint64_t line, std::uint64_t column) {
    return Json{{"line", line}, {"character", column}};
  };
  EXPECT_EQ(position_of(file, 3), place(0, 2));
  EXPECT_EQ(position_of(file, 7), place(0, 4));
  EXPECT_EQ(position_of(file, 1000), place(2, 4));
  EXPECT_EQ(offset_of(file, place(0, 4)), 7u);
  EXPECT_EQ(offset_of(file, place(0, 3)), 3u) << "in the middle of a character";
  EXPECT_EQ(offset_of(file, place(0, 99)), 8u) << "the end of the line";
  EXPECT_EQ(offset_of(file, place(1, 5)), 10u);
  EXPECT_EQ(offset_of(file, place(std::uint64_t{1} << 40, 0)), file.text().size());
  EXPECT_THROW(offset_of(file, Json::array()), Json::exception);
}

TEST(UriTest, NamesOfFiles) {
  EXPECT_EQ(path_of("file:///a/b%20c%C3%A9.dhp"), "/a/b c\u00e9.dhp");
  EXPECT_EQ(path_of("file://host/a"), "/a");
  EXPECT_EQ(path_of("file:///a/%4"), "/a/%4");
  EXPECT_EQ(path_of("untitled:1"), "untitled:1");
  EXPECT_EQ(uri_of("/a/b c\u00e9.dhp"), "file:///a/b%20c%C3%A9.dhp");
  EXPECT_EQ(uri_of("untitled:1"), "untitled:1");
}

TEST(DocumentsTest, TakeChangesInTheirOrder) {
  Documents documents;
  documents.open({{"textDocument", {{"uri", "file:///f"}, {"version", 1}, {"text", "one\ntwo\n"}}}});
  const auto range = [](int line, int begin, int end) {
    return Json{{"start", {{"line", line}, {"character", begin}}},
                {"end", {{"line", line}, {"character", end}}}};
  };
  const Json changes =
      Json::array({{{"range", range(0, 0, 3)}, {"text", "1\n"}}, {{"range", range(2, 0, 1)}, {"text", "T"}}});
  documents.change({{"textDocument", {{"uri", "file:///f"}, {"version", 2}}}, {"contentChanges", changes}});
  ASSERT_NE(documents.find("/f"), nullptr);
  EXPECT_EQ(documents.find("/f")->file.text(), "1\n\nTwo\n");
  EXPECT_EQ(documents.find("/f")->version, 2);
  documents.close("/f");
  EXPECT_EQ(documents.find("/f"), nullptr);
}

TEST(ShiftTest, CarriesPlacesOver) {
  const Shift shift("let a = 1; let b = 2;", "let a = 1234; let b = 2;");
  EXPECT_EQ(shift.to_new(4), 4u);
  EXPECT_EQ(shift.to_new(15), 18u);
  EXPECT_EQ(shift.to_old(18), 15u);
  EXPECT_EQ(shift.to_old(11), 9u) << "in what the old text lacks";
  const Shift same("abab", "ab");
  EXPECT_EQ(same.to_new(4), 2u);
  EXPECT_LE(same.to_new(3), 2u);
}

// An editor may ask about one function after another, or one name after another.
TEST(VersionTest, KeepsWhatWasAskedForLast) {
  std::string text;
  std::vector<std::uint32_t> places;
  for (int n = 0; n < 50; ++n) {
    places.push_back(static_cast<std::uint32_t>(text.size()));
    text += "fn f" + std::to_string(n) + "() -> i64 { return 1; }\n";
  }
  Version version(std::make_shared<const Parsed>("/f", text, ImportOptions()), {});
  std::vector<std::weak_ptr<const Snapshot>> made;
  for (const std::uint32_t place : places) made.push_back(version.snapshot(Part::at(place)));
  EXPECT_TRUE(made.front().expired());
  EXPECT_FALSE(made.back().expired());
  EXPECT_EQ(version.known(Part::at(places.back())), made.back().lock());
  const std::shared_ptr<const Snapshot> whole = version.snapshot(Part());
  EXPECT_EQ(version.snapshot(Part::at(places.front())), whole);
}

}  // namespace
}  // namespace dhpvm::compiler::lsp
