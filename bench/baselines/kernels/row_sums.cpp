// SPDX-License-Identifier: Apache-2.0
// The sum of each row of a matrix of float, size x size.
#include "../measure.h"

namespace {

void row_sums(std::int64_t n, const float* a, float* sums) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) sum += a[i * n + j];
    sums[i] = sum;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2048);
  const std::int64_t n = run.size();
  const std::vector<float> a = measure::centred_noise(n * n);
  std::vector<float> sums(n);
  while (run.next()) {
    for (int turn = 0; turn < 8; ++turn) row_sums(n, a.data(), sums.data());
    run.done(sums[n - 1]);
  }
  measure::check(sums);
}
