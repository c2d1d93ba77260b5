// SPDX-License-Identifier: Apache-2.0
// The scalar product of two vectors of float. `simd` says for the lanes what `reduction` says for the
// threads: that the order of the sum is free, as it is under `reduce` in the language.
#include "../measure.h"

namespace {

float dot(std::int64_t n, const float* x, const float* y) {
  float sum = 0.0f;
#pragma omp parallel for simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 8'000'000);
  const std::int64_t n = run.size();
  std::vector<float> x(n);
  std::vector<float> y(n);
  std::vector<float> result(1);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = measure::noise_f32(i);
    y[i] = measure::noise_f32(n + i);
  }
  while (run.next()) {
    for (int pass = 0; pass < 16; ++pass) result[0] = dot(n, x.data(), y.data());
    run.done(result[0]);
  }
  measure::check(result);
}
