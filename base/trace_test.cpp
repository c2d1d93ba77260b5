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

TEST(Tracer, ArrowsLeadFromSliceToSlice) {
  Tracer tracer;
  const auto from = tracer.add_track("loops");
  const auto to = tracer.add_track("queue");
  const auto now = Tracer::Clock::now();
  const std::uint32_t flow = tracer.next_flow();
  EXPECT_NE(tracer.next_flow(), flow);
  tracer.flow(Tracer::FlowPoint::kBegin, flow, from, now);
  tracer.flow(Tracer::FlowPoint::kStep, flow, to, now);
  tracer.flow(Tracer::FlowPoint::kEnd, flow, to, now);
  const auto events = nlohmann::json::parse(tracer.to_json())["traceEvents"];
  ASSERT_EQ(events.size(), 5u);
  const char* const phases[] = {"s", "t", "f"};
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_EQ(events[2 + n]["ph"], phases[n]);
    EXPECT_EQ(events[2 + n]["id"], flow);
    EXPECT_EQ(events[2 + n]["tid"], n == 0 ? from : to);
    EXPECT_EQ(events[2 + n]["bp"], "e");
  }
}

TEST(Tracer, AnEmptyTraceIsStillADocument) { EXPECT_TRUE(nlohmann::json::accept(Tracer().to_json())); }

}  // namespace
}  // namespace dhpvm
