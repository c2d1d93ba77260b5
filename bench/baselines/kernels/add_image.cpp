// SPDX-License-Identifier: Apache-2.0
// Adds two colour pictures of size x size pixels, with three bytes each; what is too bright stays white.
// `simd` because a store of bytes may change anything in C++, also the pointers that the threads share: without it the loop
// is not vectorised.
#include <algorithm>

#include "../measure.h"

namespace {

void add(std::int64_t samples, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* sum) {
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < samples; ++i) sum[i] = static_cast<std::uint8_t>(std::min(a[i] + b[i], 255));
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2000);
  const std::int64_t samples = run.size() * run.size() * 3;
  std::vector<std::uint8_t> a(samples);
  std::vector<std::uint8_t> b(samples);
  std::vector<std::uint8_t> sum(samples);
#pragma omp parallel for
  for (std::int64_t i = 0; i < samples; ++i) {
    a[i] = static_cast<std::uint8_t>(measure::noise(i) * 256.0);
    b[i] = static_cast<std::uint8_t>(measure::noise(samples + i) * 256.0);
  }
  while (run.next()) {
    for (int pass = 0; pass < 20; ++pass) add(samples, a.data(), b.data(), sum.data());
    run.done(sum[samples - 1]);
  }
  measure::check(sum);
}
