// SPDX-License-Identifier: Apache-2.0
// Threads that take turns at the events of a transport: whoever waits for one handles it, and none is left lying.
#include "offload/remote/fabric/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "offload/remote/fabric/noted.h"

namespace dhpvm::offload {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Events without contents, and who has handled them.
class Events final : public EventSource, public Noted {
 public:
  bool poll() override {
    bool any = false;
    note([&] {
      any = brought_ != handled_;
      handled_ = brought_;
      if (any) by_ = std::this_thread::get_id();
    });
    if (any && then_) then_();
    return any;
  }
  void wait(std::chrono::milliseconds timeout) override {
    Noted::wait([&] { return is_woken_ || brought_ != handled_; }, timeout);
    note([&] { is_woken_ = false; });
  }
  void wake() override {
    note([&] { is_woken_ = true; });
  }
  // From elsewhere.
  void bring() {
    note([&] { ++brought_; });
  }
  bool is_handled() {
    return Noted::wait([&] { return brought_ == handled_; }, 0ms);
  }
  bool wait_until_handled() {
    return Noted::wait([&] { return brought_ == handled_; });
  }
  std::thread::id by() {
    std::thread::id id;
    note([&] { id = by_; });
    return id;
  }
  // Before the thread starts.
  void set_then(std::function<void()> then) { then_ = std::move(then); }

 private:
  unsigned brought_ = 0;
  unsigned handled_ = 0;
  bool is_woken_ = false;
  std::thread::id by_;
  std::function<void()> then_;
};

class Progress : public testing::Test {
 protected:
  Progress() { EXPECT_TRUE(progress_.start().ok()); }
  ~Progress() override { progress_.stop(); }

  // Waits for an event as the users of transports do; whether this thread has handled it.
  bool waits_for_event() {
    std::thread elsewhere([this] {
      std::this_thread::sleep_for(100us);
      events_.bring();
      is_brought_ = true;
    });
    progress_.attend([this] { return is_brought_ && events_.is_handled(); }, Clock::now() + 100ms);
    elsewhere.join();
    is_brought_ = false;
    EXPECT_TRUE(events_.wait_until_handled());
    return events_.by() == std::this_thread::get_id();
  }
  // On a busy machine the thread may take the lead again in between.
  bool leads_at_last() {
    const auto deadline = Clock::now() + Noted::kPatience;
    bool leads = false;
    while (!leads && Clock::now() < deadline) leads = waits_for_event();
    return leads;
  }

  Events events_;
  std::atomic<bool> is_brought_ = false;
  ProgressThread progress_{events_};
};

TEST_F(Progress, ThreadThatWaitsHandlesTheEvent) { EXPECT_TRUE(leads_at_last()); }

TEST_F(Progress, ThreadReturnsWhenNobodyWaits) {
  ASSERT_TRUE(leads_at_last());
  for (int n = 0; n < 3; ++n) {
    events_.bring();
    ASSERT_TRUE(events_.wait_until_handled());
    EXPECT_NE(events_.by(), std::this_thread::get_id());
  }
}

TEST_F(Progress, PostedFunctionsRunWhoeverLeads) {
  ASSERT_TRUE(leads_at_last());
  std::thread::id by;
  progress_.run_and_wait([&] { by = std::this_thread::get_id(); });
  EXPECT_NE(by, std::this_thread::get_id());

  ASSERT_TRUE(leads_at_last());
  std::promise<void> later;
  progress_.post_at(Clock::now() + 5ms, [&] { later.set_value(); });
  EXPECT_EQ(later.get_future().wait_for(Noted::kPatience), std::future_status::ready);
}

TEST_F(Progress, SomebodyListensWhileAnswersAreExpected) {
  progress_.run_and_wait([] {});
  progress_.expect(1);
  for (int n = 0; n < 20; ++n) EXPECT_FALSE(waits_for_event());
  progress_.expect(-1);
  EXPECT_TRUE(leads_at_last());
}

TEST_F(Progress, StreamsAreLeftToTheThread) {
  ASSERT_TRUE(leads_at_last());
  bool is_left = false;
  for (int n = 0; n < 1000 && !is_left; ++n) {
    events_.bring();
    progress_.attend([this] { return events_.is_handled(); }, Clock::now() + 100ms);
    ASSERT_TRUE(events_.wait_until_handled());
    is_left = events_.by() != std::this_thread::get_id();
  }
  EXPECT_TRUE(is_left);
}

TEST_F(Progress, WaitingEndsAtItsDeadline) {
  ASSERT_TRUE(leads_at_last());
  const auto begin = Clock::now();
  progress_.attend([] { return false; }, begin + 1ms);
  progress_.attend([] { return false; }, Clock::time_point::max());
  // Nobody is kept for ever by something that comes from elsewhere.
  EXPECT_LT(Clock::now() - begin, Noted::kPatience);
  events_.bring();
  EXPECT_TRUE(events_.wait_until_handled());
}

TEST(ProgressLead, IsKnownToHandlers) {
  Events events;
  ProgressThread progress(events);
  std::atomic<unsigned> runs = 0;
  // Neither waits for itself.
  events.set_then([&] {
    progress.run_and_wait([&] { ++runs; });
    progress.attend([] { return false; }, Clock::time_point::max());
  });
  ASSERT_TRUE(progress.start().ok());
  for (unsigned n = 1; n <= 20; ++n) {
    events.bring();
    progress.attend([&] { return runs == n; }, Clock::now() + 1s);
    ASSERT_TRUE(events.wait_until_handled());
    while (runs != n) std::this_thread::yield();
  }
  progress.stop();
}

}  // namespace
}  // namespace dhpvm::offload
