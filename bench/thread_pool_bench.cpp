// SPDX-License-Identifier: Apache-2.0
// Measures what it costs to hand a loop to the thread pool: `thread_pool_bench [--json] [threads]`. Times are
// on the wall, medians; on a machine that is busy with something else they mean nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "bench/figures.h"
#include "bench/json_line.h"

namespace dhpvm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void row(bool json, std::string_view name, double value, std::string_view unit) {
  if (json) {
    print_json_line({{"name", name}, {"value", value}, {"unit", unit}});
  } else {
    fmt::print("{:<60} {:>10.3f} {}\n", name, value, unit);
  }
}

// One empty chunk per thread, each dispatch `gap` after the one before.
double empty_dispatch(ThreadPool& pool, std::chrono::microseconds gap, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    if (gap.count() > 0) std::this_thread::sleep_for(gap);
    const auto begin = Clock::now();
    pool.parallel_for_chunks(pool.size(), [](std::uint32_t) {});
    times.push_back(seconds_since(begin) * 1e6);
  }
  return median(times);
}

// The time until the last thread has begun to work.
double wake_up(ThreadPool& pool, std::chrono::microseconds gap, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    if (gap.count() > 0) std::this_thread::sleep_for(gap);
    const auto begin = Clock::now();
    std::atomic<unsigned> arrived{0};
    pool.parallel_for_chunks(pool.size(), [&](std::uint32_t) {
      arrived.fetch_add(1);
      while (arrived.load() < pool.size()) {
      }
    });
    times.push_back(seconds_since(begin) * 1e6);
  }
  return median(times);
}

// Successive passes over the same arrays, which fit the caches of the cores together: GB/s.
double passes(ThreadPool& pool, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float) / 2;
  std::vector<float> x(count, 1.0f);
  std::vector<float> y(count, 2.0f);
  constexpr std::uint32_t kChunks = 64;
  const auto pass = [&] {
    pool.parallel_for_chunks(kChunks, [&](std::uint32_t chunk) {
      const std::size_t end = count * (chunk + 1) / kChunks;
      for (std::size_t i = count * chunk / kChunks; i < end; ++i) y[i] = 0.5f * x[i] + y[i];
    });
  };
  std::vector<double> times;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto begin = Clock::now();
    for (int i = 0; i < 20; ++i) pass();
    times.push_back(seconds_since(begin) / 20);
  }
  return static_cast<double>(count) * 12 / median(times) * 1e-9;
}

int run(int argc, char** argv) {
  bool json = false;
  unsigned threads = 2;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") {
      json = true;
    } else {
      threads = std::max(1u, static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)));
    }
  }
  using std::chrono::microseconds;
  ThreadPool pool(threads);
  empty_dispatch(pool, microseconds(0), 1000);
  row(json, fmt::format("empty loop, {} threads, back to back", threads),
      empty_dispatch(pool, microseconds(0), 100'000), "us");
  row(json, fmt::format("empty loop, {} threads, after 1 ms of silence", threads),
      empty_dispatch(pool, microseconds(1000), 1000), "us");
  if (threads <= std::thread::hardware_concurrency()) {
    row(json, fmt::format("until {} threads have begun, back to back", threads),
        wake_up(pool, microseconds(0), 20'000), "us");
    row(json, fmt::format("until {} threads have begun, after 1 ms of silence", threads),
        wake_up(pool, microseconds(1000), 1000), "us");
  }
  for (const std::size_t mebibytes : {1, 16}) {
    row(json, fmt::format("saxpy over and over, {} MiB, {} threads", mebibytes, threads),
        passes(pool, mebibytes << 20), "GB/s");
    ThreadPool alone(1);
    row(json, fmt::format("saxpy over and over, {} MiB, 1 thread", mebibytes), passes(alone, mebibytes << 20),
        "GB/s");
  }
  return 0;
}

}  // namespace
}  // namespace dhpvm

int main(int argc, char** argv) { return dhpvm::run(argc, argv); }
