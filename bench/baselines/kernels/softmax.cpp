// SPDX-License-Identifier: Apache-2.0
// The softmax of each row of a matrix of float, size x size.
#include <algorithm>
#include <cmath>

#include "../measure.h"

namespace {

void softmax(std::int64_t n, const float* a, float* out) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = a + i * n;
    float* result = out + i * n;
    float most = row[0];
    for (std::int64_t j = 1; j < n; ++j) most = std::max(most, row[j]);
    float sum = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) {
      const float e = std::exp(row[j] - most);
      result[j] = e;
      sum += e;
    }
    const float scale = 1.0f / sum;
    for (std::int64_t j = 0; j < n; ++j) result[j] *= scale;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2048);
  const std::int64_t n = run.size();
  std::vector<float> a(n * n);
  std::vector<float> out(n * n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * n; ++i) a[i] = static_cast<float>(measure::noise(i) * 8.0 - 4.0);
  while (run.next()) {
    softmax(n, a.data(), out.data());
    run.done(out[n * n - 1]);
  }
  measure::check(out);
}
