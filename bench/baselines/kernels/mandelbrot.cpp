// SPDX-License-Identifier: Apache-2.0
// The steps for which each of size x size points stays near zero under z = z^2 + c, at most 256 steps, in
// float. The schedule is dynamic, because the rows differ in their work.
#include "../measure.h"

namespace {

constexpr std::int32_t kLimit = 256;

void mandelbrot(std::int64_t n, std::int32_t* steps) {
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      const float cr = 3.0f * static_cast<float>(x) / static_cast<float>(n) - 2.25f;
      const float ci = 3.0f * static_cast<float>(y) / static_cast<float>(n) - 1.5f;
      float zr = 0.0f;
      float zi = 0.0f;
      std::int32_t i = 0;
      while (i < kLimit && zr * zr + zi * zi <= 4.0f) {
        const float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        ++i;
      }
      steps[y * n + x] = i;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 700);
  const std::int64_t n = run.size();
  std::vector<std::int32_t> steps(n * n);
  while (run.next()) {
    mandelbrot(n, steps.data());
    run.done(steps[n * n - 1]);
  }
  measure::check(steps);
}
