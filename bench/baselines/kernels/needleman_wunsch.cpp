// SPDX-License-Identifier: Apache-2.0
// The scores of the best alignments of two sequences of `size` letters (Needleman and Wunsch), diagonal by diagonal, in
// 32-bit integers.
#include <algorithm>

#include "../measure.h"

namespace {

void align(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
           std::vector<std::int32_t>& score) {
  const auto n = static_cast<std::int64_t>(a.size());
  const std::int64_t row = n + 1;
  for (std::int64_t diagonal = 2; diagonal < 2 * n + 1; ++diagonal) {
    const std::int64_t first = diagonal > n ? diagonal - n : 1;
    const std::int64_t last = diagonal > n ? n : diagonal - 1;
#pragma omp parallel for
    for (std::int64_t i = first; i <= last; ++i) {
      const std::int64_t j = diagonal - i;
      const std::int32_t same = score[(i - 1) * row + j - 1] + (a[i - 1] == b[j - 1] ? 3 : -2);
      const std::int32_t up = score[(i - 1) * row + j] - 1;
      const std::int32_t left = score[i * row + j - 1] - 1;
      score[i * row + j] = std::max({same, up, left});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 3000);
  const std::int64_t n = run.size();
  std::vector<std::uint8_t> a(n);
  std::vector<std::uint8_t> b(n);
  std::vector<std::int32_t> score((n + 1) * (n + 1));
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = static_cast<std::uint8_t>(measure::noise(i) * 4.0);
    b[i] = static_cast<std::uint8_t>(measure::noise(n + i) * 4.0);
  }
  for (std::int64_t i = 0; i <= n; ++i) {
    score[i * (n + 1)] = static_cast<std::int32_t>(-i);
    score[i] = static_cast<std::int32_t>(-i);
  }
  while (run.next()) {
    align(a, b, score);
    run.done(score.back());
  }
  measure::check(score);
}
