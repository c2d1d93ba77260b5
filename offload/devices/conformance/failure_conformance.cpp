// SPDX-License-Identifier: Apache-2.0
// A failure spreads to all operations that depend on it, and to no others.
#include <thread>

#include "base/error.h"
#include "offload/devices/conformance/conformance.h"

namespace dhpvm::offload {
namespace {

// A thread that waits for the value learns the reason.
void expect_failed(Semaphore& semaphore, std::uint64_t value) {
  const auto waited = semaphore.wait(value, Semaphore::Clock::now() + std::chrono::seconds(60));
  ASSERT_FALSE(waited.ok()) << "value " << value << (*waited ? " was reached" : " neither came nor failed");
  EXPECT_EQ(waited.error().code(), ErrorCode::kDeviceLost);
  EXPECT_NE(waited.error().to_string().find("a reason of its own"), std::string::npos)
      << waited.error().to_string();
  EXPECT_FALSE(semaphore.value().ok());
}

TEST_P(Conformance, FailureReachesEverythingThatDependsOnIt) {
  const auto failing = new_queue("failing");
  const auto dependent = new_queue("dependent");
  const auto other = new_queue("other");
  const MemorySpan memory = place(std::vector<std::uint8_t>(16, 1));
  const auto gate = new_semaphore();
  const auto a = new_semaphore();
  const auto b = new_semaphore();
  const auto c = new_semaphore();
  const auto d = new_semaphore();
  gate->fail(error(ErrorCode::kDeviceLost, "a reason of its own"));
  EXPECT_TRUE(ok(failing->fill({memory.memory, 0, 4}, {}, Ordered{{{gate, 1}}, {{a, 1}}})));
  EXPECT_TRUE(ok(failing->fill({memory.memory, 4, 4}, {}, Ordered{{}, {{b, 1}}}))) << "failure is no refusal";
  EXPECT_TRUE(ok(dependent->fill({memory.memory, 8, 4}, {}, Ordered{{{a, 1}}, {{c, 1}}})));
  EXPECT_TRUE(ok(other->fill({memory.memory, 12, 4}, {}, Ordered{{}, {{d, 1}}})));
  for (const auto& queue : {failing.get(), dependent.get(), other.get()}) EXPECT_TRUE(ok(queue->flush()));
  expect_failed(*a, 1);
  expect_failed(*b, 1);
  expect_failed(*c, 1);
  EXPECT_TRUE(reached(*d, 1));
  // A queue that has failed stays so; the device does not.
  EXPECT_TRUE(
      ok(failing->host_call([] { ADD_FAILURE() << "called by a failed queue"; }, Ordered{{}, {{d, 2}}})));
  EXPECT_TRUE(ok(failing->flush()));
  expect_failed(*d, 2);
  const std::vector<std::uint8_t> found = values<std::uint8_t>(memory);
  EXPECT_EQ(found, (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST_P(Conformance, WhatWasReachedBeforeAFailureStaysReached) {
  const auto queue = new_queue("partly");
  const MemorySpan memory = allocate(16);
  const auto done = new_semaphore();
  const auto gate = new_semaphore();
  gate->fail(error(ErrorCode::kDeviceLost, "a reason of its own"));
  EXPECT_TRUE(ok(queue->fill(memory, std::byte{9}, Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->fill(memory, std::byte{8}, Ordered{{{gate, 5}}, {{done, 2}}})));
  EXPECT_TRUE(ok(queue->flush()));
  expect_failed(*done, 2);
  EXPECT_TRUE(reached(*done, 1));
  EXPECT_EQ(read(memory), std::vector(16, std::byte{9}));
}

TEST_P(Conformance, AWaitIsEndedByFailure) {
  const auto semaphore = new_semaphore();
  std::thread waiter([&] { expect_failed(*semaphore, 1); });
  semaphore->fail(error(ErrorCode::kDeviceLost, "a reason of its own"));
  waiter.join();
  EXPECT_FALSE(semaphore->value().ok());
}

TEST_P(Conformance, AFailedQueueMayGoAtOnce) {
  const auto gate = new_semaphore();
  const auto done = new_semaphore();
  gate->fail(error(ErrorCode::kDeviceLost, "a reason of its own"));
  {
    const auto queue = new_queue("gone");
    const MemorySpan memory = allocate(1 << 16);
    EXPECT_TRUE(ok(queue->fill(memory, {}, Ordered{{{gate, 1}}, {}})));
    for (std::uint64_t n = 1; n <= 100; ++n)
      EXPECT_TRUE(ok(queue->fill(memory, {}, Ordered{{}, {{done, n}}})));
  }
  expect_failed(*done, 1);
}

}  // namespace
}  // namespace dhpvm::offload
