// SPDX-License-Identifier: Apache-2.0
// Jacobi's method on a plate of size x size places whose upper edge is hot, in double: every place takes the
// mean of its four neighbours.
#include "../measure.h"

namespace {

void step(std::int64_t n, const double* now, double* next) {
#pragma omp parallel for
  for (std::int64_t y = 1; y < n - 1; ++y) {
    for (std::int64_t x = 1; x < n - 1; ++x) {
      const std::int64_t i = y * n + x;
      next[i] = 0.25 * (now[i - n] + now[i + n] + now[i - 1] + now[i + 1]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 1000);
  const std::int64_t n = run.size();
  std::vector<double> now(n * n);
  std::vector<double> next(n * n);
  for (std::int64_t x = 0; x < n; ++x) now[x] = next[x] = 100.0;
  while (run.next()) {
    for (int pass = 0; pass < 40; ++pass) {
      step(n, now.data(), next.data());
      now.swap(next);
    }
    run.done(now[n + 1]);
  }
  measure::check(now);
}
