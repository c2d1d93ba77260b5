// SPDX-License-Identifier: Apache-2.0
#include "base/stop_token.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace dhpvm {
namespace {

TEST(StopToken, WordsSeeReasonsThatWereRaisedBeforeAndAfter) {
  StopToken token;
  StopToken::Word before(token);
  token.raise(StopToken::kInterrupt);
  token.raise(StopToken::kDeadline);
  StopToken::Word after(token);
  constexpr std::uint32_t kBoth = StopToken::kInterrupt | StopToken::kDeadline;
  EXPECT_EQ(before.value().load(), kBoth);
  EXPECT_EQ(after.value().load(), kBoth);
  token.lower(StopToken::kInterrupt);
  EXPECT_EQ(token.reasons(), StopToken::kDeadline);
}

TEST(StopToken, WordsThatAreTakenAgainBeginAnew) {
  StopToken token;
  for (int n = 0; n < 3; ++n) {
    StopToken::Word word(token);
    EXPECT_EQ(word.value().load(), 0U);
    word.value().store(0x80000000);
    token.raise(StopToken::kInterrupt);
    EXPECT_EQ(word.value().load(), 0x80000000 | StopToken::kInterrupt);
    token.lower(StopToken::kInterrupt);
  }
}

// A request that comes while words are taken is seen by all of them.
TEST(StopToken, NoWordMissesARequest) {
  for (int round = 0; round < 200; ++round) {
    StopToken token;
    std::atomic<int> missed{0};
    std::atomic<bool> raised{false};
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) {
      threads.emplace_back([&] {
        for (bool stopped = false; !stopped;) {
          StopToken::Word word(token);
          const bool was_raised = raised.load();
          stopped = word.value().load() != 0;
          if (was_raised && !stopped) {
            ++missed;
            return;
          }
        }
      });
    }
    std::this_thread::yield();
    token.raise(StopToken::kInterrupt);
    raised.store(true);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(missed.load(), 0);
  }
}

}  // namespace
}  // namespace dhpvm
