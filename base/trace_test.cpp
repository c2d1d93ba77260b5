// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dhpvm {
namespace {

TEST(Tracer, WritesJsonThatAParserReads) {
  Tracer tracer;
  const auto track = tracer.add_track("queue \"0\"");
  const auto now = Tracer::Clock::now();
  tracer.slice(track, "minor\n", now, now + std::chrono::milliseconds(2), {{"bytes", 42}});
  tracer.instant(track, "trap");
  tracer.counter("live", 7);

  const auto json = nlohmann::json::parse(tracer.to_json());
  const auto& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["args"]["name"], "queue \"0\"");
  EXPECT_NEAR(events[1]["dur"].get<double>(), 2000.0, 0.01);
  EXPECT_EQ(events[1]["args"]["bytes"], 42);
  EXPECT_EQ(events[3]["ph"], "C");
}

TEST(Tracer, AnEmptyTraceIsStillADocument) { EXPECT_TRUE(nlohmann::json::accept(Tracer().to_json())); }

}  // namespace
}  // namespace dhpvm
