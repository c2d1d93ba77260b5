// SPDX-License-Identifier: Apache-2.0
// The Julia set of -0.8 + 0.156 i as a grey picture of size x size pixels, at most 300 steps, in float. The
// schedule is dynamic, because the rows differ in their work.
#include "../measure.h"

namespace {

void julia(std::int64_t n, std::uint8_t* picture, float cr, float ci) {
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      float zr = 3.0f * static_cast<float>(x) / static_cast<float>(n) - 1.5f;
      float zi = 3.0f * static_cast<float>(y) / static_cast<float>(n) - 1.5f;
      std::int64_t i = 0;
      while (i < 300 && zr * zr + zi * zi < 4.0f) {
        const float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        ++i;
      }
      picture[y * n + x] = static_cast<std::uint8_t>(i * 255 / 300);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 900);
  const std::int64_t n = run.size();
  std::vector<std::uint8_t> picture(n * n);
  while (run.next()) {
    julia(n, picture.data(), -0.8f, 0.156f);
    run.done(picture[n / 2 * n + n / 2]);
  }
  measure::check(picture);
}
