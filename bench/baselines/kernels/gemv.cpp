// SPDX-License-Identifier: Apache-2.0
// The product of a matrix of float, size x size, and a vector, in the plain way.
#include "../measure.h"

namespace {

void gemv(std::int64_t n, const float* a, const float* x, float* y) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
    y[i] = sum;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2048);
  const std::int64_t n = run.size();
  const std::vector<float> a = measure::centred_noise(n * n);
  const std::vector<float> x = measure::centred_noise(n, n * n);
  std::vector<float> y(n);
  while (run.next()) {
    for (int turn = 0; turn < 8; ++turn) gemv(n, a.data(), x.data(), y.data());
    run.done(y[n - 1]);
  }
  measure::check(y);
}
