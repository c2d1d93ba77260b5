// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/loop_progress.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace dhpvm::offload {
namespace {

struct Told {
  std::string position;
  std::uint64_t done;
  std::uint64_t total;
  bool has_ended;
  std::thread::id thread;
  bool operator==(const Told&) const = default;
};

LoopProgress::Listener into(std::vector<Told>& told) {
  return [&told](const ProgressReport& report) {
    told.push_back({std::string(report.position), report.done, report.total, report.has_ended,
                    std::this_thread::get_id()});
  };
}

TEST(LoopProgress, TellsOnTheLoopsThreadAndOfItsEnd) {
  std::vector<Told> told;
  LoopProgress progress(into(told), std::chrono::nanoseconds(0));
  {
    const LoopProgress::Execution execution(&progress, "a.dhp:1", 10);
    std::jthread([&] { progress.add(3); }).join();
    EXPECT_TRUE(told.empty());
    progress.add(2);
  }
  const std::thread::id here = std::this_thread::get_id();
  EXPECT_EQ(told, (std::vector<Told>{{"a.dhp:1", 5, 10, false, here}, {"a.dhp:1", 5, 10, true, here}}));
}

TEST(LoopProgress, SaysNothingOfShortLoops) {
  std::vector<Told> told;
  LoopProgress progress(into(told), std::chrono::hours(1));
  for (int n = 0; n < 3; ++n) {
    const LoopProgress::Execution execution(&progress, "a.dhp:1", 10);
    progress.add(10);
  }
  EXPECT_TRUE(told.empty());
}

TEST(LoopProgress, CountsAnewForEachLoopAndNoMoreThanThereIs) {
  std::vector<Told> told;
  LoopProgress progress(into(told), std::chrono::nanoseconds(0));
  for (const std::uint64_t total : {4, 6}) {
    const LoopProgress::Execution execution(&progress, "a.dhp:1", total);
    progress.add(5);
  }
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].done, 4U);
  EXPECT_EQ(told[2].done, 5U);
}

TEST(LoopProgress, IsNotNeeded) { const LoopProgress::Execution execution(nullptr, "a.dhp:1", 10); }

}  // namespace
}  // namespace dhpvm::offload
