// SPDX-License-Identifier: Apache-2.0
// The product of two matrices of double, size x size, in the plain way.
#include "../measure.h"

namespace {

void gemm(std::int64_t n, const double* a, const double* b, double* c) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 480);
  const std::int64_t n = run.size();
  std::vector<double> a(n * n);
  std::vector<double> b(n * n);
  std::vector<double> c(n * n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * n; ++i) {
    a[i] = measure::noise(i) - 0.5;
    b[i] = measure::noise(n * n + i) - 0.5;
  }
  while (run.next()) {
    gemm(n, a.data(), b.data(), c.data());
    run.done(c[n * n - 1]);
  }
  measure::check(c);
}
