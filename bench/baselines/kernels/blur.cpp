// SPDX-License-Identifier: Apache-2.0
// Blurs a grey picture of size x size pixels with a Gaussian filter of radius 4, in float: along the rows,
// then along the columns. Beyond the border, the pixel at the border is taken.
#include <algorithm>
#include <cmath>

#include "../measure.h"

namespace {

// The weights of the places 0..radius away from the centre; with both sides they add up to 1.
std::vector<float> gaussian(std::int64_t radius) {
  std::vector<float> weights(radius + 1);
  const double sigma = static_cast<double>(radius) / 2.0;
  double sum = 0.0;
  for (std::int64_t i = 0; i <= radius; ++i) {
    sum += std::exp(-0.5 * static_cast<double>(i * i) / (sigma * sigma)) * (i == 0 ? 1.0 : 2.0);
  }
  for (std::int64_t i = 0; i <= radius; ++i) {
    weights[i] = static_cast<float>(std::exp(-0.5 * static_cast<double>(i * i) / (sigma * sigma)) / sum);
  }
  return weights;
}

void blur_rows(std::int64_t n, const float* source, const std::vector<float>& weights, float* out) {
  const std::int64_t radius = static_cast<std::int64_t>(weights.size()) - 1;
#pragma omp parallel for
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      float sum = weights[0] * source[y * n + x];
      for (std::int64_t i = 1; i <= radius; ++i) {
        const std::int64_t left = std::max<std::int64_t>(x - i, 0);
        const std::int64_t right = std::min(x + i, n - 1);
        sum += weights[i] * (source[y * n + left] + source[y * n + right]);
      }
      out[y * n + x] = sum;
    }
  }
}

void blur_columns(std::int64_t n, const float* source, const std::vector<float>& weights, float* out) {
  const std::int64_t radius = static_cast<std::int64_t>(weights.size()) - 1;
#pragma omp parallel for
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      float sum = weights[0] * source[y * n + x];
      for (std::int64_t i = 1; i <= radius; ++i) {
        const std::int64_t above = std::max<std::int64_t>(y - i, 0);
        const std::int64_t below = std::min(y + i, n - 1);
        sum += weights[i] * (source[above * n + x] + source[below * n + x]);
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
  std::vector<float> rows(n * n);
  std::vector<float> out(n * n);
  const std::vector<float> weights = gaussian(4);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * n; ++i) picture[i] = static_cast<float>(255.0 * measure::noise(i));
  while (run.next()) {
    blur_rows(n, picture.data(), weights, rows.data());
    blur_columns(n, rows.data(), weights, out.data());
    run.done(out[n * n - 1]);
  }
  measure::check(out);
}
