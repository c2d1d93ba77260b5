// SPDX-License-Identifier: Apache-2.0
// Floating-point loops with early exit: points inside the Mandelbrot set.
#include <cinttypes>
#include <cstdio>

#include "../measure.h"

namespace {

std::int64_t mandelbrot(std::int64_t n) {
  std::int64_t inside = 0;
  for (std::int64_t y = 0; y < n; ++y) {
    const double ci = 2.0 * static_cast<double>(y) / static_cast<double>(n) - 1.0;
    for (std::int64_t x = 0; x < n; ++x) {
      const double cr = 2.0 * static_cast<double>(x) / static_cast<double>(n) - 1.5;
      double zr = 0.0;
      double zi = 0.0;
      std::int64_t i = 0;
      while (i < 50 && zr * zr + zi * zi <= 4.0) {
        const double t = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        ++i;
      }
      if (i == 50) ++inside;
    }
  }
  return inside;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 600);
  while (run.next()) {
    std::printf("%" PRId64 "\n", mandelbrot(run.size()));
    run.done();
  }
}
