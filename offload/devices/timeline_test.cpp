// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/timeline.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

using std::chrono::milliseconds;

class TimelineRules : public testing::Test {
 protected:
  std::shared_ptr<TimelineSemaphore> make(std::uint64_t initial = 0) {
    return std::make_shared<TimelineSemaphore>(timeline, initial);
  }
  Status submit(std::vector<SemaphoreValue> waits, std::vector<SemaphoreValue> signals) {
    return timeline.submit({waits, signals});
  }
  static std::string message(const Status& status) { return status.ok() ? "" : status.error().message(); }
  Timeline timeline;
};

TEST_F(TimelineRules, OnlyGrow) {
  const auto semaphore = make(3);
  EXPECT_EQ(*semaphore->value(), 3U);
  EXPECT_TRUE(semaphore->signal(5).ok());
  EXPECT_EQ(*semaphore->value(), 5U);
  EXPECT_NE(message(semaphore->signal(5)).find("because 5 has been"), std::string::npos);
  semaphore->reach(4);
  EXPECT_EQ(*semaphore->value(), 5U);
}

TEST_F(TimelineRules, WhatIsWaitedForMustHaveBeenSubmitted) {
  const auto a = make();
  const auto b = make();
  EXPECT_NE(message(submit({{a, 1}}, {{b, 1}})).find("submit the operation that signals it first"),
            std::string::npos);
  EXPECT_NE(message(submit({{b, 1}}, {})).find("only values up to 0"), std::string::npos)
      << "an operation that was refused promises nothing";
  EXPECT_TRUE(submit({}, {{a, 1}, {b, 7}}).ok());
  EXPECT_TRUE(submit({{a, 1}, {b, 7}, {b, 3}}, {{a, 2}}).ok());
  EXPECT_EQ(*a->value(), 0U) << "submitted, not done";
}

TEST_F(TimelineRules, SignalsRiseAndARefusedOperationPromisesNone) {
  const auto a = make();
  const auto b = make();
  EXPECT_TRUE(submit({}, {{a, 4}}).ok());
  EXPECT_NE(message(submit({}, {{b, 1}, {a, 4}})).find("because 4 has been"), std::string::npos);
  EXPECT_FALSE(submit({{b, 1}}, {}).ok());
  EXPECT_FALSE(submit({}, {{b, 2}, {b, 2}}).ok());
  EXPECT_TRUE(submit({}, {{b, 2}, {b, 3}}).ok());
  EXPECT_FALSE(b->signal(3).ok()) << "the host may not overtake what has been submitted";
  EXPECT_TRUE(b->signal(4).ok());
}

TEST_F(TimelineRules, SemaphoresOfOthersAreRefused) {
  Timeline other;
  const auto foreign = std::make_shared<TimelineSemaphore>(other, 9);
  EXPECT_NE(message(submit({{foreign, 1}}, {})).find("create_semaphore()"), std::string::npos);
  EXPECT_NE(message(submit({}, {{foreign, 10}})).find("create_semaphore()"), std::string::npos);
  EXPECT_NE(message(submit({{nullptr, 0}}, {})).find("null"), std::string::npos);
}

TEST_F(TimelineRules, WaitingEndsWithTheValueOrTheDeadline) {
  const auto semaphore = make();
  EXPECT_TRUE(*semaphore->wait(0, {}));
  EXPECT_FALSE(*semaphore->wait(1, {})) << "a deadline in the past";
  EXPECT_FALSE(*semaphore->wait(1, Semaphore::Clock::now() + milliseconds(1)));
  std::thread worker([&] { semaphore->reach(2); });
  EXPECT_TRUE(*semaphore->wait(2, Semaphore::Clock::time_point::max()));
  worker.join();
  EXPECT_TRUE(*semaphore->wait(1, Semaphore::Clock::now() + std::chrono::hours(1)));
}

// Many threads look at many semaphores: a look that sleeps for no time at all costs more than everything else they do.
TEST_F(TimelineRules, ALookNeverSleeps) {
  const auto semaphore = make();
  const auto sleeps = [] {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
  };
  const long before = sleeps();
  for (int n = 0; n < 1000; ++n) EXPECT_FALSE(*semaphore->wait(1, {}));
  EXPECT_LT(sleeps() - before, 100);
}

class Heard final : public SemaphoreListener {
 public:
  void on_reached(std::uint64_t label) override { labels.push_back(label); }
  std::vector<std::uint64_t> labels;
};

TEST_F(TimelineRules, AListenerHearsOnceAndOfTheLastThingItAskedFor) {
  const auto semaphore = make();
  const auto heard = std::make_shared<Heard>();
  EXPECT_TRUE(semaphore->listen(2, heard, 7));
  semaphore->reach(1);
  EXPECT_TRUE(heard->labels.empty()) << "not yet";
  EXPECT_TRUE(semaphore->listen(3, heard, 8)) << "in place of the one before";
  semaphore->reach(2);
  EXPECT_TRUE(heard->labels.empty());
  semaphore->reach(3);
  EXPECT_EQ(heard->labels, std::vector<std::uint64_t>{8});
  semaphore->reach(4);
  EXPECT_EQ(heard->labels.size(), 1U);
  EXPECT_FALSE(semaphore->listen(4, heard, 9)) << "reached";
  EXPECT_TRUE(semaphore->listen(5, heard, 9));
  semaphore->fail(error(ErrorCode::kDeviceLost, "gone"));
  EXPECT_EQ(heard->labels, (std::vector<std::uint64_t>{8, 9}));
  EXPECT_FALSE(semaphore->listen(5, heard, 10)) << "never";
  EXPECT_EQ(heard.use_count(), 1) << "a semaphore keeps nobody that has heard";
}

TEST_F(TimelineRules, FailureStays) {
  const auto semaphore = make();
  EXPECT_TRUE(submit({}, {{semaphore, 2}}).ok());
  EXPECT_TRUE(semaphore->signal(3).ok());
  std::thread worker([&] { semaphore->fail(error(ErrorCode::kDeviceLost, "gone")); });
  const auto waited = semaphore->wait(4, Semaphore::Clock::time_point::max());
  worker.join();
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code(), ErrorCode::kDeviceLost);
  semaphore->fail(error(ErrorCode::kInternal, "later"));
  semaphore->reach(4);
  EXPECT_EQ(semaphore->value().error().message(), "gone");
  EXPECT_EQ(semaphore->wait(4, {}).error().message(), "gone");
  EXPECT_TRUE(*semaphore->wait(3, {})) << "what was reached stays reached";
  EXPECT_TRUE(submit({{semaphore, 100}}, {}).ok()) << "a failed semaphore answers at once, whatever is asked";
}

}  // namespace
}  // namespace dhpvm::offload
