// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <set>
#include <thread>

namespace dhpvm {
namespace {

class ThreadPoolSizes : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolSizes, ::testing::Values(1u, 2u, 7u, 20u));

TEST_P(ThreadPoolSizes, EveryChunkRunsOnce) {
  ThreadPool pool(GetParam());
  for (const std::uint32_t count : {0u, 1u, 2u, 3u, 7u, 8u, 1000u, 100'003u}) {
    std::vector<std::atomic<int>> runs(count);
    pool.parallel_for_chunks(count, [&](std::uint32_t chunk) { runs[chunk].fetch_add(1); });
    for (std::uint32_t chunk = 0; chunk < count; ++chunk)
      ASSERT_EQ(runs[chunk].load(), 1) << chunk << " of " << count;
  }
}

TEST_P(ThreadPoolSizes, WhatTheWorkersWroteIsSeenByTheCaller) {
  ThreadPool pool(GetParam());
  std::vector<std::uint64_t> values(4096);
  for (std::uint64_t round = 1; round <= 200; ++round) {
    pool.parallel_for_chunks(64, [&](std::uint32_t chunk) {
      for (std::size_t i = chunk * 64; i < (chunk + 1) * 64; ++i) values[i] += i;
    });
    const std::uint64_t sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    ASSERT_EQ(sum, round * 4096 * 4095 / 2);
  }
}

TEST_P(ThreadPoolSizes, SeveralCallersAtOnce) {
  ThreadPool pool(GetParam());
  constexpr int kCallers = 4;
  std::vector<std::uint64_t> sums(kCallers);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<std::uint64_t> sum{0};
        pool.parallel_for_chunks(
            50, [&](std::uint32_t chunk) { sum.fetch_add(chunk, std::memory_order_relaxed); });
        sums[static_cast<std::size_t>(caller)] += sum.load();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, 300u * 1225u);
}

TEST_P(ThreadPoolSizes, LoopsNest) {
  ThreadPool pool(GetParam());
  std::atomic<int> count{0};
  pool.parallel_for_chunks(
      10, [&](std::uint32_t) { pool.parallel_for_chunks(10, [&](std::uint32_t) { count.fetch_add(1); }); });
  EXPECT_EQ(count.load(), 100);
}

TEST_P(ThreadPoolSizes, WorkersThatSleptComeBack) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> count{0};
    pool.parallel_for_chunks(32, [&](std::uint32_t) {
      count.fetch_add(1);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    EXPECT_EQ(count.load(), 32);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ThreadPool, TheThreadsWorkAtTheSameTime) {
  // Each chunk waits for the other: one thread alone would wait for ever.
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  std::set<std::thread::id> threads;
  std::mutex mutex;
  pool.parallel_for_chunks(2, [&](std::uint32_t) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ThreadPool, SizeOneStartsNoThreadsAndGoesInOrder) {
  ThreadPool pool(1);
  std::vector<std::uint32_t> order;
  pool.parallel_for_chunks(5, [&](std::uint32_t chunk) { order.push_back(chunk); });
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, AnUnusedPoolEnds) {
  ThreadPool pool(5);
  EXPECT_EQ(pool.size(), 5u);
  EXPECT_GE(ThreadPool().size(), 1u);
}

}  // namespace
}  // namespace dhpvm
