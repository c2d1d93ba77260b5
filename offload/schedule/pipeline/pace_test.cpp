// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/pace.h"

#include <gtest/gtest.h>

#include <array>

namespace dhpvm::offload {
namespace {

constexpr std::uint32_t kUnits = 2;
constexpr std::uint64_t kMany = 1'000'000'000'000;

// A loop that is run on a device whose iterations take `seconds` each, plus `fixed` seconds for each launch.
struct TimedLoop {
  explicit TimedLoop(bool has_inner_loops) {
    footprint.complete = true;
    footprint.has_inner_loops = has_inner_loops;
    loop.footprint = &footprint;
    loop.scalars = scalars;
    loop.space.dimensions = 1;
  }

  // One launch; how long it takes.
  double launch(Pace& pace, std::uint64_t iterations = kMany) {
    EXPECT_EQ(pace.wait_before_next(position), std::nullopt);
    loop.space.high[0] = static_cast<std::int64_t>(std::min(iterations, pace.most_iterations(loop)));
    pace.launched(loop);
    pace.add_under_way(++position, pace.expected_seconds(loop));
    const double taken = fixed + seconds * static_cast<double>(loop.space.high[0]);
    pace.record(loop.label, *loop.space.count(), taken);
    return taken;
  }

  Footprint footprint;
  std::array<std::uint64_t, 1> scalars = {7};
  Loop loop;
  std::uint64_t position = 0;
  double seconds = 1e-9;
  double fixed = 50e-6;
};

TEST(Pace, LaunchesAreShortWhateverIterationsTake) {
  for (const double seconds : {1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 0.04}) {
    Pace pace(kUnits);
    TimedLoop run(true);
    run.seconds = seconds;
    double longest = 0;
    double last = 0;
    for (int n = 0; n < 12; ++n) {
      last = run.launch(pace);
      longest = std::max(longest, last);
    }
    EXPECT_LT(longest, 0.0801) << seconds;
    EXPECT_GT(last, 0.03) << seconds;
  }
}

TEST(Pace, KnowsThatStraightIterationsAreShort) {
  Pace pace(kUnits);
  const TimedLoop run(false);
  EXPECT_GE(pace.most_iterations(run.loop), 100'000U);
}

TEST(Pace, TriesAgainWhenArgumentsChange) {
  Pace pace(kUnits);
  TimedLoop run(true);
  for (int n = 0; n < 12; ++n) run.launch(pace);
  run.scalars[0] = 8;
  run.seconds *= 30;
  for (int n = 0; n < 6; ++n) EXPECT_LT(run.launch(pace), 0.0801);
  // An inner loop is much longer than it was.
  run.scalars[0] *= 5000;
  run.seconds *= 5000;
  for (int n = 0; n < 6; ++n) EXPECT_LT(run.launch(pace), 0.0801);
}

TEST(Pace, BeginsAnewBehindLaunchesOfSizesThatOthersChose) {
  Pace pace(kUnits);
  TimedLoop run(true);
  run.loop.space.high[0] = 1'000'000;
  pace.launched(run.loop);
  pace.record(run.loop.label, 1'000'000, 1e-3);
  EXPECT_EQ(pace.most_iterations(run.loop), kUnits);
  for (int n = 0; n < 12; ++n) EXPECT_LT(run.launch(pace), 0.0801);
}

TEST(Pace, TheRestOfALoopTellsLittle) {
  Pace pace(kUnits);
  TimedLoop run(true);
  for (int n = 0; n < 12; ++n) run.launch(pace);
  const std::uint64_t before = pace.most_iterations(run.loop);
  run.launch(pace, 3);
  EXPECT_EQ(pace.most_iterations(run.loop), before);
}

TEST(Pace, WaitsForLaunchesThatTakeLong) {
  Pace pace(kUnits);
  pace.add_under_way(1, 0.04);
  EXPECT_EQ(pace.wait_before_next(0), std::nullopt);
  pace.add_under_way(2, 0.04);
  EXPECT_EQ(pace.wait_before_next(0), 1U);
  EXPECT_EQ(pace.wait_before_next(1), std::nullopt);
}

}  // namespace
}  // namespace dhpvm::offload
