// SPDX-License-Identifier: Apache-2.0
// Prices European options by the formula of Black and Scholes (1973), in float. The distribution function of
// the standard normal distribution is Abramowitz and Stegun's 26.2.17.
#include <cmath>

#include "../measure.h"

namespace {

float normal(float x) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(x));
  const float tail =
      0.39894228f * std::exp(-0.5f * x * x) *
      (k *
       (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return x < 0.0f ? tail : 1.0f - tail;
}

void price(std::int64_t n, const float* spot, const float* strike, const float* years, float rate,
           float volatility, float* call, float* put) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const float spread = volatility * std::sqrt(years[i]);
    const float d1 =
        (std::log(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / spread;
    const float d2 = d1 - spread;
    const float paid = strike[i] * std::exp(-rate * years[i]);
    call[i] = spot[i] * normal(d1) - paid * normal(d2);
    put[i] = paid * normal(-d2) - spot[i] * normal(-d1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2'000'000);
  const std::int64_t n = run.size();
  std::vector<float> spot(n);
  std::vector<float> strike(n);
  std::vector<float> years(n);
  std::vector<float> call(n);
  std::vector<float> put(n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    spot[i] = static_cast<float>(5.0 + 25.0 * measure::noise(i));
    strike[i] = static_cast<float>(1.0 + 99.0 * measure::noise(n + i));
    years[i] = static_cast<float>(0.25 + 9.75 * measure::noise(2 * n + i));
  }
  while (run.next()) {
    price(n, spot.data(), strike.data(), years.data(), 0.02f, 0.3f, call.data(), put.data());
    run.done(call[n - 1]);
  }
  measure::check(call);
  measure::check(put);
}
