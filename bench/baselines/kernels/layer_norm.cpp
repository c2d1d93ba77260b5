// SPDX-License-Identifier: Apache-2.0
// Each row of a matrix of float, size x size, brought to the mean 0 and the variance 1.
#include <cmath>

#include "../measure.h"

namespace {

void layer_norm(std::int64_t n, const float* a, float* out) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = a + i * n;
    const float count = static_cast<float>(n);
    float sum = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) sum += row[j];
    const float mean = sum / count;
    float squares = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) {
      const float d = row[j] - mean;
      squares += d * d;
    }
    const float scale = 1.0f / std::sqrt(squares / count + 1e-5f);
    for (std::int64_t j = 0; j < n; ++j) out[i * n + j] = (row[j] - mean) * scale;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2048);
  const std::int64_t n = run.size();
  const std::vector<float> a = measure::centred_noise(n * n);
  std::vector<float> out(n * n);
  while (run.next()) {
    layer_norm(n, a.data(), out.data());
    run.done(out[n * n - 1]);
  }
  measure::check(out);
}
