// SPDX-License-Identifier: Apache-2.0
// Looks up `size` numbers in a sorted table of 1024 by binary search.
#include "../measure.h"

namespace {

void search(const std::vector<float>& table, const std::vector<float>& x, std::vector<std::int32_t>& out) {
  const auto n = static_cast<std::int64_t>(x.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t low = 0;
    auto high = static_cast<std::int64_t>(table.size());
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (table[middle] < x[i]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    out[i] = static_cast<std::int32_t>(low);
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 200'000);
  const std::int64_t n = run.size();
  std::vector<float> table(1024);
  std::vector<float> x(n);
  std::vector<std::int32_t> out(n);
  for (std::int64_t i = 0; i < 1024; ++i) table[i] = static_cast<float>(i) / 1024.0f;
  for (std::int64_t i = 0; i < n; ++i) x[i] = measure::noise_f32(i);
  while (run.next()) {
    for (int pass = 0; pass < 4; ++pass) search(table, x, out);
    run.done(out[n - 1]);
  }
  measure::check(out);
}
