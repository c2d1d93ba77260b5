// SPDX-License-Identifier: Apache-2.0
// Measures the buffer pool: `pool_bench [--json]`. Times are processor time of the one thread, which on an
// idle core is the time on the wall.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "bench/figures.h"
#include "bench/json_line.h"
#include "offload/schedule/memory/buffer_pool.h"

namespace dhpvm::offload {
namespace {

constexpr int kRepeats = 15;

Buffer* allocate(BufferPool& pool, std::size_t bytes) {
  // Zeroing is the cost of the memory, not of the allocator.
  Result<Buffer*> buffer = pool.allocate(bytes, BufferContents::kUndefined);
  if (!buffer.ok()) {
    fmt::print(stderr, "{}\n", buffer.error().to_string());
    std::exit(1);
  }
  return *buffer;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void row(bool json, std::string_view name, double value, std::string_view unit, double bar) {
  if (json) {
    print_json_line({{"name", name}, {"value", value}, {"unit", unit}, {"bar", bar}, {"met", value <= bar}});
  } else {
    fmt::print("{:<52} {:>10.3f} {:<5} bar <= {:<6.4g} {}\n", name, value, unit, bar,
               value <= bar ? "met" : "MISSED");
  }
}

// Allocate and free, with `others` buffers of mixed sizes around.
void warm(bool json, std::size_t bytes, int others) {
  BufferPool pool;
  std::vector<Buffer*> held;
  held.reserve(static_cast<std::size_t>(others));
  for (int i = 0; i < others; ++i)
    held.push_back(allocate(pool, BufferPool::kUnit * static_cast<std::size_t>(1 + i % 7)));
  for (std::size_t i = 0; i < held.size(); i += 2) held[i]->close();
  std::vector<double> times;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    constexpr int kPairs = 100'000;
    const double begin = processor_seconds();
    for (int i = 0; i < kPairs; ++i) allocate(pool, bytes)->close();
    if (repeat != 0) times.push_back((processor_seconds() - begin) * 1e9 / kPairs);
  }
  for (std::size_t i = 1; i < held.size(); i += 2) held[i]->close();
  row(json, fmt::format("allocate and free {} KiB among {} buffers", bytes / 1024, others), median(times),
      "ns", 300);
}

void growth(bool json) {
  std::vector<double> times;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    BufferPool pool;
    const double begin = processor_seconds();
    Buffer* first = allocate(pool, BufferPool::kLargestBlock);
    Buffer* second = allocate(pool, BufferPool::kLargestBlock);
    times.push_back((processor_seconds() - begin) * 1e3);
    first->close();
    second->close();
  }
  row(json, "grow by a resident chunk of 64 MiB", median(times), "ms", 10);
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string_view(argv[1]) == "--json";
  for (const std::size_t kib : {64, 256, 1024, 5000, 32 * 1024}) {
    dhpvm::offload::warm(json, kib * 1024, 0);
    dhpvm::offload::warm(json, kib * 1024, 10'000);
  }
  dhpvm::offload::warm(json, std::size_t{100} << 20, 0);
  dhpvm::offload::growth(json);
}
