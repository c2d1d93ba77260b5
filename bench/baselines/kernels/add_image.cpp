// SPDX-License-Identifier: Apache-2.0
// Adds two colour pictures of size x size pixels, with three bytes each; what is too bright stays white. A
// row is a function of its own: a store of bytes may change anything in C++, also the pointers that the
// threads share, so that clang 19 vectorises the loop over a row only where these are its own, and one flat
// loop under OpenMP not even with `simd`.
#include <algorithm>

#include "../measure.h"

namespace {

void add_row(std::int64_t width, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* sum) {
  for (std::int64_t x = 0; x < width; ++x) sum[x] = static_cast<std::uint8_t>(std::min(a[x] + b[x], 255));
}

void add(std::int64_t rows, std::int64_t width, const std::uint8_t* a, const std::uint8_t* b,
         std::uint8_t* sum) {
#pragma omp parallel for
  for (std::int64_t y = 0; y < rows; ++y) add_row(width, a + y * width, b + y * width, sum + y * width);
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2000);
  const std::int64_t n = run.size();
  std::vector<std::uint8_t> a(n * n * 3);
  std::vector<std::uint8_t> b(n * n * 3);
  std::vector<std::uint8_t> sum(n * n * 3);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * n * 3; ++i) {
    a[i] = static_cast<std::uint8_t>(measure::noise(i) * 256.0);
    b[i] = static_cast<std::uint8_t>(measure::noise(n * n * 3 + i) * 256.0);
  }
  while (run.next()) {
    for (int pass = 0; pass < 20; ++pass) add(n, n * 3, a.data(), b.data(), sum.data());
    run.done(sum[n * n * 3 - 1]);
  }
  measure::check(sum);
}
