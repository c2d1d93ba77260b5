// SPDX-License-Identifier: Apache-2.0
// Looks for fifth powers that are the sum of four: Euler thought that there are none, Lander and Parkin
// (1966) found 27^5 + 84^5 + 110^5 + 133^5 = 144^5. Tries the `size` numbers up to 144. The schedule is
// dynamic, because the work of an iteration depends on its place.
#include <cstdio>

#include "../measure.h"

namespace {

void search(std::int64_t n, const std::int64_t* powers, std::int64_t first, std::int64_t* found) {
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (std::int64_t e = first; e < n; ++e) {
    for (std::int64_t a = 1; a < n; ++a) {
      for (std::int64_t b = a; b < e; ++b) {
        for (std::int64_t c = b; c < e; ++c) {
          for (std::int64_t d = c; d < e; ++d) {
            if (powers[a] + powers[b] + powers[c] + powers[d] == powers[e])
              found[e * n + a] = (b * n + c) * n + d;
          }
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 12);
  constexpr std::int64_t kCount = 145;
  if (run.size() >= kCount) {
    std::fprintf(stderr, "there are only 144 numbers to try\n");
    return 3;
  }
  std::vector<std::int64_t> powers(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) powers[i] = i * i * i * i * i;
  std::vector<std::int64_t> found(kCount * kCount);
  while (run.next()) {
    search(kCount, powers.data(), kCount - run.size(), found.data());
    run.done(static_cast<double>(found[144 * kCount + 27]));
  }
  measure::check(found);
}
