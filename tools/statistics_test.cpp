// SPDX-License-Identifier: Apache-2.0
#include "statistics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dhpvm::tools {
namespace {

WorkerUse worker_named(std::string name) {
  WorkerUse worker;
  worker.name = std::move(name);
  worker.state = "lost: \"connection reset\"\n";
  worker.jobs = 7;
  worker.round_trip = std::chrono::microseconds(15);
  return worker;
}

TEST(StatisticsJson, IsOneLineThatAParserReads) {
  Statistics statistics;
  statistics.fuel_used = UINT64_MAX;
  const WorkerUse workers[] = {worker_named("remote/caf\xE9:7471")};
  const std::string text = statistics_json(statistics, Leftovers{}, workers);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["fuel_used"], UINT64_MAX);
  EXPECT_EQ(json["left_buffer_bytes"], 0);
  ASSERT_EQ(json["workers"].size(), 1u);
  EXPECT_EQ(json["workers"][0]["name"], "remote/caf\uFFFD:7471");
  EXPECT_EQ(json["workers"][0]["state"], workers[0].state);
  EXPECT_EQ(json["workers"][0]["jobs"], 7);
  EXPECT_EQ(json["workers"][0]["round_trip"], 15000);
}

TEST(StatisticsJson, HasNoWorkersAsAnEmptyList) {
  const auto json = nlohmann::json::parse(statistics_json(Statistics{}, Leftovers{}, {}));
  EXPECT_TRUE(json["workers"].is_array());
  EXPECT_TRUE(json["workers"].empty());
}

}  // namespace
}  // namespace dhpvm::tools
