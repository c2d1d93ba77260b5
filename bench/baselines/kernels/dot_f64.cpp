// SPDX-License-Identifier: Apache-2.0
// The scalar product of two vectors of double. `simd` says for the lanes what `reduction` says for the
// threads: that the order of the sum is free, as it is under `reduce` in the language.
#include "../measure.h"

namespace {

double dot(std::int64_t n, const double* x, const double* y) {
  double sum = 0.0;
#pragma omp parallel for simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 4'000'000);
  const std::int64_t n = run.size();
  std::vector<double> x(n);
  std::vector<double> y(n);
  std::vector<double> result(1);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = measure::noise(i);
    y[i] = measure::noise(n + i);
  }
  while (run.next()) {
    for (int pass = 0; pass < 16; ++pass) result[0] = dot(n, x.data(), y.data());
    run.done(result[0]);
  }
  measure::check(result);
}
