// SPDX-License-Identifier: Apache-2.0
// Semaphores, the order inside a queue and between queues, host calls, records.
#include <atomic>
#include <mutex>
#include <thread>

#include "offload/devices/conformance/conformance.h"
#include "offload/devices/null/null_device.h"

namespace dhpvm::offload {
namespace {

using std::chrono::milliseconds;

std::string message(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

TEST_P(Conformance, SemaphoresBeginWhereTheyAreToldTo) {
  const auto semaphore = new_semaphore(7);
  EXPECT_EQ(semaphore->value().value_or(0), 7U);
  EXPECT_TRUE(reached(*semaphore, 7));
  EXPECT_FALSE(semaphore->wait(8, Semaphore::Clock::now() + milliseconds(2)).value_or(true));
  EXPECT_TRUE(ok(semaphore->signal(10)));
  EXPECT_TRUE(reached(*semaphore, 9));
  EXPECT_EQ(semaphore->value().value_or(0), 10U);
  EXPECT_EQ(semaphore->signal(10).error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(Conformance, AThreadIsWokenByTheHost) {
  const auto semaphore = new_semaphore();
  std::thread waiter([&] { EXPECT_TRUE(reached(*semaphore, 3)); });
  EXPECT_TRUE(ok(semaphore->signal(1)));
  EXPECT_TRUE(ok(semaphore->signal(3)));
  waiter.join();
}

TEST_P(Conformance, WaitingForWhatNobodyHasSubmittedIsRefused) {
  const auto semaphore = new_semaphore();
  const auto done = new_semaphore();
  const auto queue = new_queue("refused");
  const MemorySpan memory = allocate(16);
  const Status refused = queue->fill(memory, {}, Ordered{{{semaphore, 1}}, {{done, 1}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << message(refused);
  // It has promised nothing, and the queue goes on.
  EXPECT_FALSE(queue->fill(memory, {}, Ordered{{{done, 1}}, {}}).ok());
  EXPECT_TRUE(ok(queue->fill(memory, {}, Ordered{{}, {{done, 1}}})));
  EXPECT_FALSE(queue->fill(memory, {}, Ordered{{}, {{done, 1}}}).ok()) << "a value is signalled once";
  EXPECT_TRUE(ok(queue->flush()));
  EXPECT_TRUE(reached(*done, 1));
}

TEST_P(Conformance, WhatBelongsToAnotherDeviceIsRefused) {
  NullDevice other;
  const std::shared_ptr<Semaphore> semaphore = *other.create_semaphore(5);
  const auto queue = new_queue("refused");
  const MemorySpan memory = allocate(16);
  EXPECT_FALSE(queue->fill(memory, {}, Ordered{{{semaphore, 1}}, {}}).ok());
  EXPECT_FALSE(queue->fill(memory, {}, Ordered{{}, {{semaphore, 6}}}).ok());
  EXPECT_FALSE(queue->fill({*other.allocate(16), 0, 16}, {}, {}).ok());
}

TEST_P(Conformance, AQueueKeepsItsOrder) {
  const auto queue = new_queue("order");
  const MemorySpan memory = allocate(1 << 16);
  std::vector<std::byte> seen(100);
  const MemorySpan result = import(seen);
  const auto done = new_semaphore();
  for (unsigned n = 0; n < 100; ++n) {
    EXPECT_TRUE(ok(queue->fill(memory, std::byte(n), {})));
    EXPECT_TRUE(ok(queue->copy({result.memory, n, 1}, {memory.memory, memory.bytes - 1, 1},
                               n == 99 ? Ordered{{}, {{done, 1}}} : Ordered{})));
  }
  EXPECT_TRUE(ok(queue->flush()));
  EXPECT_TRUE(reached(*done, 1));
  for (unsigned n = 0; n < 100; ++n) EXPECT_EQ(seen[n], std::byte(n));
}

// A token goes round three queues; each step would see the wrong byte if it began too early.
TEST_P(Conformance, SemaphoresOrderQueues) {
  std::unique_ptr<Queue> queues[3];
  for (auto& queue : queues) queue = new_queue("ring");
  const auto semaphore = new_semaphore();
  constexpr std::uint64_t kSteps = 300;
  const MemorySpan memory = allocate((kSteps + 1) * 64);
  write({memory.memory, 0, 64}, pattern(64, 1));
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    EXPECT_TRUE(
        ok(queues[step % 3]->copy({memory.memory, (step + 1) * 64, 64}, {memory.memory, step * 64, 64},
                                  Ordered{{{semaphore, step}}, {{semaphore, step + 1}}})));
  }
  for (auto& queue : queues) EXPECT_TRUE(ok(queue->flush()));
  EXPECT_TRUE(reached(*semaphore, kSteps));
  EXPECT_EQ(read({memory.memory, kSteps * 64, 64}), pattern(64, 1));
}

TEST_P(Conformance, AnOperationWaitsForManyAndSignalsMany) {
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::shared_ptr<Semaphore>> semaphores;
  std::vector<SemaphoreValue> all;
  const MemorySpan memory = allocate(8);
  for (unsigned n = 0; n < 8; ++n) {
    queues.push_back(new_queue("part"));
    semaphores.push_back(new_semaphore());
    all.push_back({semaphores.back(), 5});
    EXPECT_TRUE(ok(queues[n]->fill({memory.memory, n, 1}, std::byte(n + 1), Ordered{{}, {all.back()}})));
  }
  const MemorySpan copy = allocate(8);
  std::vector<SemaphoreValue> next;
  for (const SemaphoreValue& value : all) next.push_back({value.semaphore, 6});
  EXPECT_TRUE(ok(queues[3]->copy(copy, memory, Ordered{all, next})));
  for (const auto& queue : queues) EXPECT_TRUE(ok(queue->flush()));
  for (const auto& semaphore : semaphores) EXPECT_TRUE(reached(*semaphore, 6));
  const std::vector<std::byte> found = read(copy);
  for (unsigned n = 0; n < 8; ++n) EXPECT_EQ(found[n], std::byte(n + 1));
}

TEST_P(Conformance, HostCallsHaveTheirPlaceInTheQueue) {
  const auto queue = new_queue("calls");
  const auto done = new_semaphore();
  std::vector<std::byte> bytes(4096);
  const MemorySpan imported = import(bytes);
  const MemorySpan memory = allocate(4096);
  std::vector<std::byte> seen;
  EXPECT_TRUE(ok(queue->fill(memory, std::byte{3}, {})));
  EXPECT_TRUE(ok(queue->copy(imported, memory, {})));
  EXPECT_TRUE(ok(queue->host_call([&] { seen.push_back(bytes.back()); }, {})));
  EXPECT_TRUE(ok(queue->fill(memory, std::byte{4}, {})));
  EXPECT_TRUE(ok(queue->copy(imported, memory, {})));
  EXPECT_TRUE(ok(queue->host_call([&] { seen.push_back(bytes.back()); }, Ordered{{}, {{done, 1}}})));
  EXPECT_TRUE(ok(queue->flush()));
  EXPECT_TRUE(reached(*done, 1));
  EXPECT_EQ(seen, (std::vector{std::byte{3}, std::byte{4}}));
}

TEST_P(Conformance, AWaitEndsAtItsDeadline) {
  const auto queue = new_queue("held up");
  const auto done = new_semaphore();
  std::atomic<bool> is_open = false;
  // Some devices have done a call when its submission returns.
  std::thread submitter([&] {
    EXPECT_TRUE(ok(queue->host_call([&] { is_open.wait(false); }, Ordered{{}, {{done, 1}}})));
    EXPECT_TRUE(ok(queue->flush()));
  });
  EXPECT_FALSE(done->wait(1, Semaphore::Clock::now() + milliseconds(5)).value_or(true));
  is_open = true;
  is_open.notify_all();
  EXPECT_TRUE(reached(*done, 1));
  submitter.join();
}

TEST_P(Conformance, EveryOperationIsRecorded) {
  using Kind = OperationRecord::Kind;
  std::mutex mutex;
  std::vector<OperationRecord> records;
  const auto begin = device->now();
  auto queue = new_queue("observed", [&](const OperationRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
  });
  std::vector<std::byte> bytes(3000);
  const MemorySpan imported = import(bytes);
  const MemorySpan memory = allocate(3000);
  const MemorySpan other = allocate(1000);
  EXPECT_TRUE(ok(queue->copy(memory, imported, {}, 11)));
  EXPECT_TRUE(ok(queue->copy(other, {memory.memory, 5, 1000}, {}, 12)));
  EXPECT_TRUE(ok(queue->fill({memory.memory, 0, 10}, {}, {}, 13)));
  EXPECT_TRUE(ok(queue->copy({imported.memory, 1, 2}, {memory.memory, 1, 2}, {}, 14)));
  EXPECT_TRUE(ok(queue->host_call([] {}, {}, 15)));
  queue.reset();
  ASSERT_EQ(records.size(), 5U) << "at the latest when the queue is gone";
  constexpr Kind kKinds[] = {Kind::kUpload, Kind::kDeviceCopy, Kind::kFill, Kind::kDownload, Kind::kHostCall};
  constexpr std::uint64_t kBytes[] = {3000, 1000, 10, 2, 0};
  std::chrono::nanoseconds last = begin;
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(records[n].kind, kKinds[n]);
    EXPECT_EQ(records[n].label, 11 + n);
    EXPECT_EQ(records[n].bytes, kBytes[n]);
    EXPECT_GE(records[n].begin, last) << n;
    EXPECT_GE(records[n].end, records[n].begin) << n;
    last = records[n].end;
  }
  const DeviceStats stats = device->stats();
  EXPECT_EQ(stats.bytes_uploaded - before.bytes_uploaded, 3000U);
  EXPECT_EQ(stats.bytes_downloaded - before.bytes_downloaded, 2U);
  EXPECT_EQ(stats.copies - before.copies, 3U);
}

}  // namespace
}  // namespace dhpvm::offload
