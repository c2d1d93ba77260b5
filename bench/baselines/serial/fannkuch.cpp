// SPDX-License-Identifier: Apache-2.0
// Permuting small integer arrays: flips of pancakes.
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "../measure.h"

namespace {

void fannkuch(std::int64_t n) {
  std::vector<std::int64_t> p(n);
  std::vector<std::int64_t> q(n);
  std::vector<std::int64_t> s(n);
  for (std::int64_t i = 0; i < n; ++i) p[i] = s[i] = i;
  std::int64_t sign = 1;
  std::int64_t max_flips = 0;
  std::int64_t sum = 0;
  while (true) {
    std::int64_t q0 = p[0];
    if (q0 != 0) {
      for (std::int64_t i = 1; i < n; ++i) q[i] = p[i];
      std::int64_t flips = 1;
      while (true) {
        const std::int64_t qq = q[q0];
        if (qq == 0) {
          sum += sign * flips;
          if (flips > max_flips) max_flips = flips;
          break;
        }
        q[q0] = q0;
        if (q0 >= 3) {
          std::int64_t i = 1;
          std::int64_t j = q0 - 1;
          while (i < j) {
            std::swap(q[i], q[j]);
            ++i;
            --j;
          }
        }
        q0 = qq;
        ++flips;
      }
    }
    if (sign == 1) {
      std::swap(p[0], p[1]);
      sign = -1;
    } else {
      std::swap(p[1], p[2]);
      sign = 1;
      for (std::int64_t i = 2; i < n; ++i) {
        const std::int64_t sx = s[i];
        if (sx != 0) {
          s[i] = sx - 1;
          break;
        }
        if (i == n - 1) {
          std::printf("%" PRId64 "\nPfannkuchen(%" PRId64 ") = %" PRId64 "\n", sum, n, max_flips);
          return;
        }
        s[i] = i;
        const std::int64_t first = p[0];
        for (std::int64_t k = 0; k < i + 1; ++k) p[k] = p[k + 1];
        p[i + 1] = first;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 9);
  while (run.next()) {
    fannkuch(run.size());
    run.done();
  }
}
