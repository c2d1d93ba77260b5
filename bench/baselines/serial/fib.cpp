// SPDX-License-Identifier: Apache-2.0
// Calls: the naive Fibonacci function.
#include <cinttypes>
#include <cstdio>

#include "../measure.h"

namespace {

std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  return fib(n - 1) + fib(n - 2);
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 32);
  while (run.next()) {
    std::printf("%" PRId64 "\n", fib(run.size()));
    run.done();
  }
}
