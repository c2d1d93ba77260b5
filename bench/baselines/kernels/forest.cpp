// SPDX-License-Identifier: Apache-2.0
// Classifies `size` samples of 16 features each with a forest of 50 decision trees, in float.
#include "../measure.h"

namespace {

constexpr std::int64_t kTrees = 50;
constexpr std::int64_t kNodes = 1023;
constexpr std::int64_t kFeatures = 16;

struct Forest {
  std::vector<std::int32_t> feature, left;
  std::vector<float> threshold;
};

void decide(const std::vector<float>& samples, const Forest& forest, std::vector<float>& out) {
  const auto n = static_cast<std::int64_t>(out.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (std::int64_t t = 0; t < kTrees; ++t) {
      std::int64_t node = t * kNodes;
      while (forest.left[node] >= 0) {
        const bool below = samples[i * kFeatures + forest.feature[node]] < forest.threshold[node];
        node = forest.left[node] + (below ? 0 : 1);
      }
      sum += forest.threshold[node];
    }
    out[i] = sum;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 20'000);
  const std::int64_t n = run.size();
  std::vector<float> samples(n * kFeatures);
  for (std::int64_t i = 0; i < n * kFeatures; ++i) samples[i] = measure::noise_f32(i);
  Forest forest;
  for (std::int64_t t = 0; t < kTrees; ++t) {
    for (std::int64_t k = 0; k < kNodes; ++k) {
      const std::int64_t node = t * kNodes + k;
      forest.feature.push_back(static_cast<std::int32_t>(measure::noise(node * 3) * 16.0));
      forest.threshold.push_back(measure::noise_f32(node * 3 + 1));
      // Some branches end early.
      const bool ends = 2 * k + 2 >= kNodes || (k > 30 && measure::noise(node * 3 + 2) < 0.1);
      forest.left.push_back(ends ? -1 : static_cast<std::int32_t>(t * kNodes + 2 * k + 1));
    }
  }
  std::vector<float> out(n);
  while (run.next()) {
    decide(samples, forest, out);
    run.done(out.back());
  }
  measure::check(out);
}
