// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/clients_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dhpvm::offload {
namespace {

const std::string kKey(64, 'a');
const std::string kOther(64, 'b');

std::string clients(const std::string& list) { return R"({"clients": [)" + list + "]}"; }

TEST(ClientsFile, ClientsWithTheirKeysAndLimits) {
  const auto read = parse_clients(clients(R"({"name": "anna", "keys": [")" + kKey + R"(", ")" + kOther +
                                          R"("], "sessions": 4, "memory": 1024})"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().name, "anna");
  EXPECT_EQ(read->front().keys.size(), 2u);
  EXPECT_EQ(read->front().sessions, 4u);
  EXPECT_EQ(read->front().memory_bytes, 1024u);
  EXPECT_TRUE(read->front().may_use);
  EXPECT_FALSE(read->front().may_operate);
  EXPECT_EQ(read->front().priority, ClientEntry::kUsualPriority);
  EXPECT_TRUE(parse_clients(clients("")).ok());
}

TEST(ClientsFile, CertificatesRightsTimeAndPriority) {
  const auto read = parse_clients(
      clients(R"({"name": "bert", "certificate": "bert.example.com", "rights": ["operate"], "time": 60,
                  "priority": 200}, {"name": "anna", "certificate": "anna", "rights": ["use", "operate"]})"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->front().certificate, "bert.example.com");
  EXPECT_TRUE(read->front().keys.empty());
  EXPECT_FALSE(read->front().may_use);
  EXPECT_TRUE(read->front().may_operate);
  EXPECT_EQ(read->front().time, std::chrono::minutes(1));
  EXPECT_EQ(read->front().priority, 200u);
  EXPECT_TRUE(read->back().may_use && read->back().may_operate);
}

TEST(ClientsFile, WhatIsWrongIsSaid) {
  const std::string anna = R"({"name": "anna", "keys": [")" + kKey + R"("]})";
  const std::pair<std::string, const char*> cases[] = {
      {"", "no JSON"},
      {"[]", "no JSON"},
      {R"({"clients": {}})", "no JSON"},
      {clients("7"), "client 1 of the list"},
      {clients(R"({"name": "anna"})"), "needs"},
      {clients(R"({"name": "an\u001bna"})"), "a name has"},
      {clients(R"({"name": "anna", "keys": ["short"]})"), "32 bytes"},
      {clients(R"({"name": "anna", "keys": []})"), "one key or two"},
      {clients(R"({"name": "anna", "sessions": -1})"), "from 1 up"},
      {clients(R"({"name": "anna", "colour": 1})"), "has only"},
      {clients(R"({"name": "anna", "keys": [")" + kKey + R"("], "certificate": "anna"})"), "either"},
      {clients(R"({"name": "anna", "certificate": ""})"), "common name"},
      {clients(R"({"name": "anna", "certificate": "a", "rights": []})"), "\"use\" and \"operate\""},
      {clients(R"({"name": "anna", "certificate": "a", "rights": ["root"]})"), "\"use\" and \"operate\""},
      {clients(R"({"name": "anna", "certificate": "a", "rights": "use"})"), "\"use\" and \"operate\""},
      {clients(R"({"name": "anna", "certificate": "a", "priority": 0})"), "from 1 to 10000"},
      {clients(R"({"name": "anna", "certificate": "a", "priority": 10001})"), "from 1 to 10000"},
      {clients(R"({"name": "anna", "certificate": "a", "time": 1e99})"), "\"time\""},
      {clients(R"({"name": "a", "certificate": "x"}, {"name": "b", "certificate": "x"})"),
       "certificate that"},
      {clients(anna + "," + anna), "of that name"},
      {clients(anna + R"(,{"name": "bert", "keys": [")" + kKey + R"("]})"), "there already"},
  };
  for (const auto& [text, expected] : cases) {
    const auto read = parse_clients(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().to_string(), ::testing::HasSubstr(expected)) << text;
  }
}

TEST(ClientsFile, ChangedFilesAreReadOrRefused) {
  const std::string whole = clients(R"({"name": "anna", "keys": [")" + kKey + R"("], "sessions": 4})");
  std::mt19937 dice(2026);
  for (int n = 0; n < 2000; ++n) {
    std::string text = whole;
    for (unsigned change = dice() % 4; change != 0; --change)
      text[dice() % text.size()] = static_cast<char>(dice());
    text.resize(text.size() - dice() % 3 * (dice() % text.size()) / 3);
    static_cast<void>(parse_clients(text).ok());
  }
}

}  // namespace
}  // namespace dhpvm::offload
