// SPDX-License-Identifier: Apache-2.0
// Much at once: many operations in flight, queues that go while they work, several threads, a pipeline.
#include <algorithm>
#include <thread>

#include "bytecode/registers.h"
#include "offload/devices/conformance/conformance.h"

namespace dhpvm::offload {
namespace {

// Each byte is copied from where the operation before left it, on the next of four queues.
TEST_P(Conformance, TenThousandOperationsInFlight) {
  constexpr std::uint64_t kOperations = 10'000;
  std::unique_ptr<Queue> queues[4];
  for (auto& queue : queues) queue = new_queue("many");
  const auto semaphore = new_semaphore();
  const MemorySpan memory = allocate(kOperations + 1);
  write({memory.memory, 0, 1}, pattern(1, 1));
  for (std::uint64_t n = 0; n < kOperations; ++n) {
    ASSERT_TRUE(ok(queues[n / 10 % 4]->copy({memory.memory, n + 1, 1}, {memory.memory, n, 1},
                                            Ordered{{{semaphore, n}}, {{semaphore, n + 1}}})));
  }
  for (auto& queue : queues) EXPECT_TRUE(ok(queue->flush()));
  ASSERT_TRUE(reached(*semaphore, kOperations));
  EXPECT_EQ(read(memory), std::vector(kOperations + 1, pattern(1, 1).front()));
}

TEST_P(Conformance, QueuesMayGoWhileTheyWork) {
  const auto semaphore = new_semaphore();
  std::vector<std::byte> result(1 << 16);
  const MemorySpan imported = import(result);
  std::uint64_t value = 0;
  for (unsigned round = 1; round <= 10; ++round) {
    const auto first = new_queue("first");
    const auto second = new_queue("second");
    const MemorySpan memory = allocate(1 << 16);
    for (unsigned n = 0; n < 50; ++n) {
      EXPECT_TRUE(
          ok(first->fill(memory, std::byte(round), Ordered{{{semaphore, value}}, {{semaphore, value + 1}}})));
      EXPECT_TRUE(
          ok(second->copy(imported, memory, Ordered{{{semaphore, value + 1}}, {{semaphore, value + 2}}})));
      value += 2;
    }
  }
  // Their destructors have waited.
  EXPECT_EQ(semaphore->value().value_or(0), value);
  EXPECT_EQ(result, std::vector(result.size(), std::byte{10}));
}

TEST_P(Conformance, ThreadsShareADevice) {
  std::vector<std::thread> threads;
  const auto semaphore = new_semaphore();
  std::atomic<std::uint64_t> next{1};
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto queue = new_queue("own");
      const auto own = new_semaphore();
      for (std::uint64_t n = 1; n <= 100; ++n) {
        const MemorySpan a = allocate(1000);
        std::vector<std::byte> bytes(1000);
        const MemorySpan b = import(bytes, HostMemory::kPageable);
        EXPECT_TRUE(ok(queue->fill(a, std::byte(thread + n), {})));
        EXPECT_TRUE(ok(queue->copy(b, a, Ordered{{}, {{own, n}}})));
        EXPECT_TRUE(ok(queue->flush()));
        ASSERT_TRUE(reached(*own, n));
        ASSERT_EQ(bytes[999], std::byte(thread + n));
      }
      // The last to come signals for all.
      if (next.fetch_add(1) == 4) {
        EXPECT_TRUE(ok(semaphore->signal(1)));
      }
    });
  }
  EXPECT_TRUE(reached(*semaphore, 1));
  for (std::thread& thread : threads) thread.join();
}

// Chunks through a ring of slots on three queues, all submitted without a wait of the host's.
TEST_P(Conformance, APipelineOfChunks) {
  const auto kernel = load("saxpy");
  if (kernel == nullptr) return;
  constexpr std::size_t kChunk = 1000;
  constexpr std::size_t kChunks = 64;
  constexpr std::size_t kSlots = 3;
  std::vector<float> x(kChunk * kChunks);
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 977) / 7.0F;
    y[i] = static_cast<float>(i % 613) / 3.0F;
  }
  std::vector<float> expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = 0.7F * x[i] + y[i];
  const MemorySpan host_x = import(x);
  const MemorySpan host_y = import(y);
  const MemorySpan report = place(std::vector<codegen::KernelReport>(1));
  MemorySpan slots_x[kSlots];
  MemorySpan slots_y[kSlots];
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    slots_x[slot] = allocate(kChunk * 4);
    slots_y[slot] = allocate(kChunk * 4);
  }
  const auto upload = new_queue("upload");
  const auto compute = new_queue("compute");
  const auto download = new_queue("download");
  const auto up = new_semaphore();
  const auto ran = new_semaphore();
  const auto down = new_semaphore();
  const std::uint64_t scalar = bytecode::put(0.7F);
  for (std::uint64_t n = 0; n < kChunks; ++n) {
    const std::size_t offset = n * kChunk * 4;
    const MemorySpan& slot_x = slots_x[n % kSlots];
    const MemorySpan& slot_y = slots_y[n % kSlots];
    const std::uint64_t is_free = n < kSlots ? 0 : n + 1 - kSlots;
    EXPECT_TRUE(
        ok(upload->copy(slot_x, {host_x.memory, offset, kChunk * 4}, Ordered{{{down, is_free}}, {}})));
    EXPECT_TRUE(ok(upload->copy(slot_y, {host_y.memory, offset, kChunk * 4}, Ordered{{}, {{up, n + 1}}})));
    const ArrayArgument arrays[] = {array_argument(slot_x, x.size(), 4, n * kChunk),
                                    array_argument(slot_y, x.size(), 4, n * kChunk)};
    const auto low = static_cast<std::int64_t>(n * kChunk);
    EXPECT_TRUE(ok(compute->launch(
        {kernel, {1, {low}, {low + static_cast<std::int64_t>(kChunk)}}, {&scalar, 1}, arrays, {}, report},
        Ordered{{{up, n + 1}}, {{ran, n + 1}}})));
    EXPECT_TRUE(ok(download->copy({host_y.memory, offset, kChunk * 4}, slot_y,
                                  Ordered{{{ran, n + 1}}, {{down, n + 1}}})));
  }
  for (const auto& queue : {upload.get(), compute.get(), download.get()}) EXPECT_TRUE(ok(queue->flush()));
  ASSERT_TRUE(reached(*down, kChunks));
  EXPECT_TRUE(y == expected);
}

}  // namespace
}  // namespace dhpvm::offload
