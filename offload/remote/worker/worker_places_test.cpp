// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_places.h"

#include <gtest/gtest.h>

namespace dhpvm::offload {
namespace {

constexpr auto kWaits = WorkerPlaces::Patience::kWaits;

WorkerLimits limits(unsigned sessions, unsigned waiting) {
  WorkerLimits made;
  made.sessions = sessions;
  made.waiting = waiting;
  return made;
}

TEST(WorkerPlaces, FirstComeFirstServed) {
  WorkerPlaces places(limits(1, 2));
  EXPECT_EQ(places.enter(1, "a", kWaits)->number, 0u);
  EXPECT_FALSE(places.enter(2, "a", WorkerPlaces::Patience::kNone));
  EXPECT_EQ(places.enter(3, "a", kWaits)->number, 1u);
  EXPECT_EQ(places.enter(4, "a", kWaits)->number, 2u);
  EXPECT_FALSE(places.enter(5, "a", kWaits));
  const auto moves = places.leave(1);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].first, 3u);
  EXPECT_EQ(moves[0].second.number, 0u);
  EXPECT_EQ(moves[1].first, 4u);
  EXPECT_EQ(moves[1].second.number, 1u);
  EXPECT_TRUE(places.leave(4).empty());
  EXPECT_EQ(places.served(), 1u);
  EXPECT_EQ(places.waiting(), 0u);
}

TEST(WorkerPlaces, WhoHasManySessionsLetsOthersGoFirst) {
  WorkerPlaces places(limits(2, 8));
  for (std::uint64_t number = 1; number <= 4; ++number)
    static_cast<void>(places.enter(number, "greedy", kWaits));
  static_cast<void>(places.enter(5, "modest", kWaits));
  EXPECT_EQ(places.leave(1)[0].first, 5u);
  EXPECT_EQ(places.leave(2)[0].first, 3u);
}

TEST(WorkerPlaces, WhoWaitsIsServedByPriority) {
  WorkerPlaces places(limits(3, 8));
  ClientEntry urgent;
  urgent.name = "urgent";
  urgent.priority = 200;
  urgent.time = std::chrono::seconds(5);
  places.set_clients({urgent});
  for (std::uint64_t number = 1; number <= 3; ++number)
    static_cast<void>(places.enter(number, "usual", kWaits));
  EXPECT_EQ(places.enter(4, "modest", kWaits)->number, 1u);
  EXPECT_EQ(places.enter(5, "urgent", kWaits)->number, 1u);
  EXPECT_EQ(places.enter(6, "urgent", kWaits)->number, 2u) << "as many per priority as the one before it";
  EXPECT_EQ(places.enter(7, "usual", kWaits)->number, 4u);
  const auto moves = places.leave(1);
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves[0].first, 5u);
  EXPECT_EQ(moves[0].second.number, 0u);
  EXPECT_EQ(moves[0].second.time, std::chrono::seconds(5));
  EXPECT_EQ(moves[1].first, 4u)
      << "with two sessions the urgent one has as many per priority, and came later";
  EXPECT_EQ(moves[1].second.number, 1u);
  EXPECT_EQ(moves[2].first, 6u);
  EXPECT_EQ(places.leave(2)[0].first, 4u);
  EXPECT_EQ(places.leave(3)[0].first, 6u);
}

TEST(WorkerPlaces, ClientsHaveLimitsOfTheirOwn) {
  WorkerPlaces places(limits(4, 8));
  ClientEntry small;
  small.name = "small";
  small.sessions = 1;
  small.memory_bytes = 100;
  places.set_clients({small});
  EXPECT_EQ(places.enter(1, "small", kWaits)->memory_bytes, 100u);
  EXPECT_EQ(places.enter(2, "small", kWaits)->number, 1u);
  EXPECT_EQ(places.enter(3, "large", kWaits)->number, 0u);
  EXPECT_TRUE(places.leave(3).front().second.number == 1);
  EXPECT_EQ(places.leave(1).front().second.number, 0u);
}

TEST(WorkerPlaces, MemoryIsNeverGivenTwice) {
  WorkerLimits some = limits(16, 0);
  some.total_memory_bytes = 32 << 20;
  WorkerPlaces places(some);
  std::uint64_t sum = 0;
  std::uint64_t least = some.total_memory_bytes;
  for (std::uint64_t number = 1; number <= 16; ++number) {
    const std::uint64_t bytes = places.enter(number, "a", kWaits)->memory_bytes;
    if (number == 1) EXPECT_EQ(bytes, 9u << 20);
    sum += bytes;
    least = std::min(least, bytes);
  }
  EXPECT_LE(sum, some.total_memory_bytes);
  EXPECT_GE(least, 1u << 20);
  static_cast<void>(places.leave(1));
  EXPECT_GE(places.enter(17, "a", kWaits)->memory_bytes, 5u << 20);
}

}  // namespace
}  // namespace dhpvm::offload
