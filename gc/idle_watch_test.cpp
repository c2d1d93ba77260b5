// SPDX-License-Identifier: Apache-2.0
#include "gc/idle_watch.h"

#include <gtest/gtest.h>

namespace dhpvm::gc::testing {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

// A program as the watch sees it: looked at every 50 ms.
struct Program {
  IdleWatch watch;
  IdleWatch::Clock::time_point now{1h};
  std::uint64_t allocated = 0;
  std::size_t occupied = kGiB;
  std::size_t live = kGiB;
  std::chrono::milliseconds pause{10};
  int collections = 0;

  // `rate` is in bytes per second.
  void run(std::chrono::milliseconds time, std::size_t rate, IdleWatch::Wait wait = IdleWatch::kRunning) {
    for (std::chrono::milliseconds done{0}; done < time; done += 50ms) {
      now += 50ms;
      allocated += rate / 20;
      look(wait);
    }
  }

  void wait_for_input(std::chrono::milliseconds time) {
    const auto begin = now;
    while (now - begin < time) {
      now += 50ms;
      look({IdleWatch::WaitKind::kSoFar, now - begin});
    }
  }

  void look(IdleWatch::Wait wait) {
    if (!watch.due(now, allocated, occupied, wait)) return;
    ++collections;
    const auto begin = now;
    now += pause;
    watch.collected(CollectionKind::kFull, CollectionReason::kIdle, occupied, live, begin, now);
    occupied = live;
  }

  static constexpr IdleWatch::Wait sleep(std::chrono::milliseconds time) {
    return {IdleWatch::WaitKind::kAhead, time};
  }
};

TEST(IdleWatch, CollectsOnceAfterABusyPhase) {
  Program program;
  program.run(3s, kGiB);
  EXPECT_EQ(program.collections, 0);
  program.live = kMiB;
  program.run(1s, 0);
  EXPECT_EQ(program.collections, 1);
  program.run(1h, 0);
  EXPECT_EQ(program.collections, 1);
}

// A busy program waits for its own collections, during which it allocates nothing.
TEST(IdleWatch, TakesNoPauseForCalm) {
  Program program;
  for (int i = 0; i < 10; ++i) {
    program.run(1s, kGiB);
    const auto begin = program.now;
    program.now += 4s;
    program.watch.collected(CollectionKind::kFull, CollectionReason::kGrowth, kGiB, kGiB, begin, program.now);
  }
  EXPECT_EQ(program.collections, 0);
}

TEST(IdleWatch, CollectsAProgramThatAllocatesSlowly) {
  Program program;
  program.run(3s, kGiB);
  program.live = kMiB;
  program.run(1s, kMiB);
  EXPECT_EQ(program.collections, 1);
}

TEST(IdleWatch, LeavesSmallAndBusyProgramsAlone) {
  Program program;
  program.occupied = program.live = 6 * kMiB;
  program.run(60s, kMiB);
  program.occupied = program.live = kGiB;
  program.run(60s, kGiB);
  EXPECT_EQ(program.collections, 0);
}

TEST(IdleWatch, CollectsAProgramThatDroppedAFewMegabytes) {
  Program program;
  program.occupied = 10 * kMiB;
  program.live = kMiB;
  program.run(100ms, 100 * kMiB);
  program.run(1s, 0);
  EXPECT_EQ(program.collections, 1);
}

TEST(IdleWatch, TriesLessAndLessWhereNothingIsFreed) {
  Program program;
  program.run(3s, kGiB);
  program.run(600s, kMiB);
  EXPECT_GE(program.collections, 3);
  EXPECT_LE(program.collections, 20);
  program.collections = 0;
  program.run(600s, 0);
  EXPECT_LE(program.collections, 3);
}

// However often that gained nothing while the program ran.
TEST(IdleWatch, CollectsAtTheBeginningOfALongWait) {
  Program program;
  program.run(30s, 2 * kMiB);
  const int before = program.collections;
  program.run(1s, 0, Program::sleep(1h));
  EXPECT_EQ(program.collections, before + 1);
  program.run(60s, 0, Program::sleep(1h));
  EXPECT_LE(program.collections, before + 3);
}

TEST(IdleWatch, DoesNotHoldUpAShortWait) {
  Program program;
  program.pause = 200ms;
  program.run(3s, kGiB);
  program.run(1s, 0);
  EXPECT_EQ(program.collections, 1);
  program.run(3s, kGiB);
  program.run(1s, 0, Program::sleep(100ms));
  EXPECT_EQ(program.collections, 1);
  program.run(1s, 0, Program::sleep(300ms));
  EXPECT_EQ(program.collections, 2);
}

// The last pause says little when it was long because the machine was busy: memory must not stay for as long.
TEST(IdleWatch, CollectsSoonWhileWaitingForInput) {
  Program program;
  program.pause = 4s;
  program.run(3s, kGiB);
  program.run(1s, 0);
  EXPECT_EQ(program.collections, 1);
  program.run(3s, kGiB);
  program.wait_for_input(400ms);
  EXPECT_EQ(program.collections, 1);
  program.wait_for_input(1s);
  EXPECT_EQ(program.collections, 2);
}

TEST(IdleWatch, DoesNotHoldUpQuickAnswers) {
  Program program;
  program.pause = 200ms;
  program.run(3s, kGiB);
  program.run(1s, 0);
  program.run(3s, kGiB);
  for (int i = 0; i < 100; ++i) program.wait_for_input(150ms);
  EXPECT_EQ(program.collections, 1);
}

}  // namespace
}  // namespace dhpvm::gc::testing
