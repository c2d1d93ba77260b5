// SPDX-License-Identifier: Apache-2.0
// Heat spreads in a cube of size x size x size places, in float: each takes from its six neighbours.
#include "../measure.h"

namespace {

void step(std::int64_t n, const float* now, float* next) {
#pragma omp parallel for
  for (std::int64_t z = 1; z < n - 1; ++z) {
    for (std::int64_t y = 1; y < n - 1; ++y) {
      for (std::int64_t x = 1; x < n - 1; ++x) {
        const std::int64_t i = (z * n + y) * n + x;
        next[i] = 0.4f * now[i] + 0.1f * (now[i - n * n] + now[i + n * n] + now[i - n] + now[i + n] +
                                          now[i - 1] + now[i + 1]);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 250);
  const std::int64_t n = run.size();
  std::vector<float> now(n * n * n);
  std::vector<float> next(n * n * n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * n * n; ++i) now[i] = next[i] = measure::noise_f32(i);
  while (run.next()) {
    for (int pass = 0; pass < 4; ++pass) {
      step(n, now.data(), next.data());
      now.swap(next);
    }
    run.done(now[(n + 1) * n + 1]);
  }
  measure::check(now);
}
