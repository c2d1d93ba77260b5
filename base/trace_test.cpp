// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

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

TEST(Tracer, NamesThatAreNoUtf8AreStillReadByAParser) {
  Tracer tracer;
  const auto track = tracer.add_track("caf\xE9");
  tracer.instant(track, "\xFF\x01 \\ caf\xC3\xA9");
  const auto json = nlohmann::json::parse(tracer.to_json());
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "caf\uFFFD");
  EXPECT_EQ(json["traceEvents"][1]["name"], "\uFFFD\x01 \\ caf\u00E9");
}

TEST(Tracer, ArrowsJoinEventsWithTheSameFlow) {
  Tracer tracer;
  const auto from = tracer.add_track("loops");
  const auto to = tracer.add_track("queue");
  const auto now = Tracer::Clock::now() + std::chrono::seconds(1);
  // Told late, and in no order.
  tracer.slice(to, "second", now + std::chrono::milliseconds(1), now + std::chrono::milliseconds(2),
               {{"flow", 7}});
  tracer.slice(to, "first", now, now + std::chrono::milliseconds(1), {{"flow", 7}});
  tracer.instant(from, "begin", {{"flow", 7}});
  const auto events = nlohmann::json::parse(tracer.to_json())["traceEvents"];
  ASSERT_EQ(events.size(), 8u);
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_EQ(events[5 + n]["ph"], n == 0 ? "s" : "t");
    EXPECT_EQ(events[5 + n]["id"], 7);
    EXPECT_EQ(events[5 + n]["tid"], n == 0 ? from : to);
  }
  EXPECT_LT(events[6]["ts"], events[7]["ts"]);
}

TEST(Tracer, KindsNameManyEventsOnce) {
  Tracer tracer;
  constexpr std::string_view kArguments[] = {"bytes", "flow"};
  const Tracer::Kind kind = tracer.kind("upload", kArguments);
  EXPECT_EQ(tracer.kind("upload", kArguments), kind);
  EXPECT_NE(tracer.kind("upload"), kind);
  EXPECT_NE(tracer.kind("download", kArguments), kind);
  const auto track = tracer.add_track("queue");
  // More than one piece of a log holds.
  constexpr int kEvents = 5000;
  const auto now = Tracer::Clock::now();
  for (int i = 0; i < kEvents; ++i) {
    tracer.slice(track, kind, now, now + std::chrono::nanoseconds(1500 + i), {-i, 0});
  }
  const auto events = nlohmann::json::parse(tracer.to_json())["traceEvents"];
  ASSERT_EQ(events.size(), 1u + 2 * kEvents);
  for (int i = 0; i < kEvents; ++i) {
    const auto& event = events[std::size_t{1} + static_cast<std::size_t>(i)];
    EXPECT_EQ(event["name"], "upload");
    EXPECT_EQ(event["args"]["bytes"], -i);
    EXPECT_NEAR(event["dur"].get<double>(), 1.5 + i / 1000.0, 1e-6);
  }
}

TEST(Tracer, ThreadsTellOfManyTracksAtOnce) {
  Tracer tracer;
  constexpr unsigned kThreads = 4, kEvents = 3000;
  const auto shared = tracer.add_track("shared");
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&tracer, shared, t] {
      const auto own = tracer.add_track("own");
      for (unsigned i = 0; i < kEvents; ++i) {
        tracer.instant(shared, "both", {{"thread", t}});
        tracer.instant(own, tracer.kind("own"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto events = nlohmann::json::parse(tracer.to_json())["traceEvents"];
  EXPECT_EQ(events.size(), kThreads + 1 + 2 * kThreads * kEvents);
}

TEST(Tracer, AnEmptyTraceIsStillADocument) { EXPECT_TRUE(nlohmann::json::accept(Tracer().to_json())); }

}  // namespace
}  // namespace dhpvm
