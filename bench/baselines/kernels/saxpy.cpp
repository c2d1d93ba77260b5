// SPDX-License-Identifier: Apache-2.0
// y += a x for vectors of float.
#include "../measure.h"

namespace {

void saxpy(std::int64_t n, float a, const float* x, float* y) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 8'000'000);
  const std::int64_t n = run.size();
  std::vector<float> x(n);
  std::vector<float> y(n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = measure::noise_f32(i);
    y[i] = measure::noise_f32(n + i);
  }
  while (run.next()) {
    for (int pass = 0; pass < 15; ++pass) saxpy(n, 0.5f, x.data(), y.data());
    run.done(y[n - 1]);
  }
  measure::check(y);
}
