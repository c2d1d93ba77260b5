// SPDX-License-Identifier: Apache-2.0
// The nearest of 16 centres for each of `size` points in 8 dimensions, in float: the assignment step of
// k-means.
#include <limits>

#include "../measure.h"

namespace {

void assign(std::int64_t count, std::int64_t clusters, std::int64_t dimensions, const float* points,
            const float* centres, std::int32_t* nearest) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    float best = std::numeric_limits<float>::max();
    for (std::int64_t c = 0; c < clusters; ++c) {
      float distance = 0.0f;
      for (std::int64_t d = 0; d < dimensions; ++d) {
        const float difference = points[i * dimensions + d] - centres[c * dimensions + d];
        distance += difference * difference;
      }
      if (distance < best) {
        best = distance;
        nearest[i] = static_cast<std::int32_t>(c);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 400'000);
  const std::int64_t n = run.size();
  std::vector<float> points(n * 8);
  std::vector<float> centres(std::size_t{16} * 8);
  std::vector<std::int32_t> nearest(n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * 8; ++i) points[i] = measure::noise_f32(i);
  for (std::int64_t i = 0; i < 16 * 8; ++i) centres[i] = measure::noise_f32(-1 - i);
  while (run.next()) {
    assign(n, 16, 8, points.data(), centres.data(), nearest.data());
    run.done(nearest[n - 1]);
  }
  measure::check(nearest);
}
