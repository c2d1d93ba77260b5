// SPDX-License-Identifier: Apache-2.0
// Pi, from `size` random points in a square: as many as are in the circle. The numbers are those of
// Philox2x64-10 (Salmon et al., SC 2011), as in stdlib/random.dhp, made in the loop.
#include "../measure.h"

namespace {

__extension__ using Wide = unsigned __int128;

struct Pair {
  std::uint64_t first;
  std::uint64_t second;
};

Pair philox_pair(std::int64_t seed, std::int64_t i, std::int64_t j) {
  auto key = static_cast<std::uint64_t>(seed);
  auto c0 = static_cast<std::uint64_t>(i);
  auto c1 = static_cast<std::uint64_t>(j);
  for (int round = 0; round < 10; ++round) {
    const Wide product = static_cast<Wide>(c0) * 0xd2b74407b1ce6e93u;
    c0 = static_cast<std::uint64_t>(product >> 64) ^ key ^ c1;
    c1 = static_cast<std::uint64_t>(product);
    key += 0x9e3779b97f4a7c15u;
  }
  return {c0, c1};
}

std::int64_t inside(std::int64_t n) {
  std::int64_t count = 0;
#pragma omp parallel for reduction(+ : count)
  for (std::int64_t i = 0; i < n; ++i) {
    const Pair p = philox_pair(1, i, 0);
    const double x = static_cast<double>(p.first >> 11) * 1.1102230246251565e-16;
    const double y = static_cast<double>(p.second >> 11) * 1.1102230246251565e-16;
    if (x * x + y * y < 1.0) ++count;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 8'000'000);
  std::vector<double> result(1);
  while (run.next()) {
    const std::int64_t n = run.size();
    result[0] = 4.0 * static_cast<double>(inside(n)) / static_cast<double>(n);
    run.done(result[0]);
  }
  measure::check(result);
}
