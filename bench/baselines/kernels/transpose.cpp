// SPDX-License-Identifier: Apache-2.0
// The transpose of a matrix of float, size x size.
#include "../measure.h"

namespace {

void transpose(std::int64_t n, const float* a, float* out) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) out[j * n + i] = a[i * n + j];
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2048);
  const std::int64_t n = run.size();
  const std::vector<float> a = measure::centred_noise(n * n);
  std::vector<float> out(n * n);
  while (run.next()) {
    transpose(n, a.data(), out.data());
    run.done(out[(n - 1) * n]);
  }
  measure::check(out);
}
