// SPDX-License-Identifier: Apache-2.0
// Filters a grey picture of size x size pixels by 5 x 5 weights, in float. The border of two pixels stays
// black.
#include "../measure.h"

namespace {

void convolve(std::int64_t n, const float* picture, const float* weights, float* out) {
#pragma omp parallel for
  for (std::int64_t y = 2; y < n - 2; ++y) {
    for (std::int64_t x = 2; x < n - 2; ++x) {
      float sum = 0.0f;
      for (std::int64_t dy = 0; dy < 5; ++dy) {
        for (std::int64_t dx = 0; dx < 5; ++dx) {
          sum += weights[dy * 5 + dx] * picture[(y + dy - 2) * n + x + dx - 2];
        }
      }
      out[y * n + x] = sum;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2000);
  const std::int64_t n = run.size();
  std::vector<float> picture(n * n);
  std::vector<float> out(n * n);
  std::vector<float> weights(25);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * n; ++i) picture[i] = measure::noise_f32(i);
  for (std::int64_t i = 0; i < 25; ++i) weights[i] = static_cast<float>(measure::noise(-1 - i) - 0.5);
  while (run.next()) {
    for (int pass = 0; pass < 12; ++pass) convolve(n, picture.data(), weights.data(), out.data());
    run.done(out[n / 2 * n + n / 2]);
  }
  measure::check(out);
}
