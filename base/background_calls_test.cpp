// SPDX-License-Identifier: Apache-2.0
#include "base/background_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>

namespace dhpvm {
namespace {

using Clock = std::chrono::steady_clock;

Status go_on() { return {}; }

TEST(BackgroundCalls, AreWaitedForAsLongAsThePollSucceeds) {
  BackgroundCalls calls;
  std::binary_semaphore may_return(0);
  const auto call = calls.begin([&] { may_return.acquire(); });
  int polls = 0;
  const Status stopped = calls.wait(call, [&]() -> Status {
    if (++polls < 3) return {};
    return Error(ErrorCode::kDeadline, "enough");
  });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kDeadline);
  EXPECT_FALSE(calls.finish(Clock::now()));
  may_return.release();
  EXPECT_TRUE(calls.wait(call, go_on).ok());
  EXPECT_TRUE(calls.finish(Clock::now()));
}

// The captured objects of a function belong to its thread, although the caller of begin() may be slower.
TEST(BackgroundCalls, EndWhatTheyHaveCaptured) {
  BackgroundCalls calls;
  auto captured = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = captured;
  const auto call = calls.begin([captured = std::move(captured)] {});
  EXPECT_TRUE(calls.wait(call, go_on).ok());
  EXPECT_TRUE(seen.expired());
}

TEST(BackgroundCalls, AreAllWaitedForAtTheEnd) {
  std::atomic<int> ended = 0;
  {
    BackgroundCalls calls;
    for (int n = 0; n < 50; ++n) calls.begin([&] { ++ended; });
  }
  EXPECT_EQ(ended, 50);
}

}  // namespace
}  // namespace dhpvm
