// SPDX-License-Identifier: Apache-2.0
// The product of two matrices of float, size x size, the first one transposed: columns times columns, in the plain way.
#include "../measure.h"

namespace {

void product(std::int64_t n, const float* a, const float* b, float* c) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0.0f;
      for (std::int64_t k = 0; k < n; ++k) sum += a[k * n + i] * b[k * n + j];
      c[i * n + j] = sum;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 512);
  const std::int64_t n = run.size();
  const std::vector<float> a = measure::centred_noise(n * n);
  const std::vector<float> b = measure::centred_noise(n * n, n * n);
  std::vector<float> c(n * n);
  while (run.next()) {
    product(n, a.data(), b.data(), c.data());
    run.done(c[n * n - 1]);
  }
  measure::check(c);
}
