// SPDX-License-Identifier: Apache-2.0
// Counts `size` numbers of float in 100 bins of equal width, each thread in bins of its own.
#include "../measure.h"

namespace {

void count(const std::vector<float>& x, std::vector<std::int64_t>& bins) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto length = static_cast<std::int64_t>(bins.size());
  const auto width = static_cast<float>(length);
  std::int64_t* const counts = bins.data();
#pragma omp parallel for reduction(+ : counts[ : length])
  for (std::int64_t i = 0; i < n; ++i) counts[static_cast<std::int64_t>(x[i] * width)] += 1;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 8'000'000);
  const std::int64_t n = run.size();
  std::vector<float> x(n);
  std::vector<std::int64_t> bins(100);
  for (std::int64_t i = 0; i < n; ++i) x[i] = measure::noise_f32(i);
  while (run.next()) {
    for (std::int64_t& bin : bins) bin = 0;
    count(x, bins);
    run.done(static_cast<double>(bins[99]));
  }
  measure::check(bins);
}
