// SPDX-License-Identifier: Apache-2.0
// Array stores with a stride: the sieve of Eratosthenes. A byte for each number, as in the language;
// std::vector<bool> would pack them into bits.
#include <cinttypes>
#include <cstdio>

#include "../measure.h"

namespace {

std::int64_t sieve(std::int64_t n) {
  std::vector<unsigned char> composite(n + 1);
  std::int64_t count = 0;
  for (std::int64_t i = 2; i < n + 1; ++i) {
    if (composite[i] == 0) {
      ++count;
      for (std::int64_t j = i * i; j < n + 1; j += i) composite[j] = 1;
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 5'000'000);
  while (run.next()) {
    std::printf("%" PRId64 "\n", sieve(run.size()));
    run.done();
  }
}
