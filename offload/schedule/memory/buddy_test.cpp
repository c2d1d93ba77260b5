// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/buddy.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace dhpvm::offload {
namespace {

TEST(Buddy, StartsAsOneBlock) {
  Buddy buddy;
  EXPECT_EQ(buddy.free_units(), Buddy::kUnits);
  EXPECT_EQ(buddy.free_orders(), 1u << (Buddy::kOrders - 1));
  EXPECT_EQ(buddy.take(Buddy::kUnits), 0u);
  EXPECT_EQ(buddy.free_orders(), 0u);
  EXPECT_FALSE(buddy.take(1).has_value());
}

TEST(Buddy, KeepsTheTailOfAPowerOfTwoFree) {
  Buddy buddy;
  EXPECT_EQ(buddy.take(5), 0u);
  EXPECT_EQ(buddy.free_units(), Buddy::kUnits - 5);
  EXPECT_EQ(buddy.take(1), 5u);
  EXPECT_EQ(buddy.take(2), 6u);
  EXPECT_EQ(buddy.take(8), 8u);
}

TEST(Buddy, AlignsToThePowerOfTwo) {
  Buddy buddy;
  EXPECT_EQ(buddy.take(1), 0u);
  EXPECT_EQ(buddy.take(3), 4u);
  EXPECT_EQ(buddy.take(100), 128u);
}

TEST(Buddy, MergesWhatItGetsBack) {
  Buddy buddy;
  std::vector<std::size_t> units;
  units.reserve(Buddy::kUnits);
  for (std::size_t i = 0; i < Buddy::kUnits; ++i) units.push_back(buddy.take(1).value());
  EXPECT_EQ(buddy.free_units(), 0u);
  std::shuffle(units.begin(), units.end(), std::mt19937(1));
  for (const std::size_t unit : units) buddy.give(unit, 1);
  EXPECT_EQ(buddy.free_orders(), 1u << (Buddy::kOrders - 1));
}

// Against a plain map of ranges: nothing overlaps, nothing is lost, failure means there is no such block.
TEST(Buddy, AgreesWithAModel) {
  Buddy buddy;
  std::map<std::size_t, std::size_t> taken;
  std::mt19937 random(7);
  std::size_t used = 0;
  for (int step = 0; step < 100'000; ++step) {
    if (random() % 2 == 0) {
      const std::size_t count = 1 + random() % (random() % 8 == 0 ? 512 : 16);
      const unsigned order = Buddy::order_of(count);
      const bool possible = buddy.free_orders() >> order != 0;
      const auto first = buddy.take(count);
      ASSERT_EQ(first.has_value(), possible);
      if (!first) continue;
      ASSERT_EQ(*first % (std::size_t{1} << order), 0u);
      ASSERT_LE(*first + count, Buddy::kUnits);
      const auto next = taken.lower_bound(*first);
      ASSERT_TRUE(next == taken.end() || next->first >= *first + count);
      ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= *first);
      taken[*first] = count;
      used += count;
    } else if (!taken.empty()) {
      auto victim = taken.lower_bound(random() % Buddy::kUnits);
      if (victim == taken.end()) victim = taken.begin();
      buddy.give(victim->first, victim->second);
      used -= victim->second;
      taken.erase(victim);
    }
    ASSERT_EQ(buddy.free_units(), Buddy::kUnits - used);
  }
  for (const auto& [first, count] : taken) buddy.give(first, count);
  EXPECT_EQ(buddy.free_orders(), 1u << (Buddy::kOrders - 1));
}

}  // namespace
}  // namespace dhpvm::offload
