// SPDX-License-Identifier: Apache-2.0
// Prices European options by the formula of Black and Scholes (1973).
#pragma OPENCL FP_CONTRACT OFF

// Abramowitz and Stegun's 26.2.17.
float normal(float x) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
  const float tail =
      0.39894228f * exp(-0.5f * x * x) *
      (k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return x < 0.0f ? tail : 1.0f - tail;
}

kernel void black_scholes(global const float* restrict spot, global const float* restrict strike,
                          global const float* restrict years, float rate, float volatility,
                          global float* restrict call, global float* restrict put) {
  const size_t i = get_global_id(0);
  const float s = spot[i];
  const float t = years[i];
  const float spread = volatility * sqrt(t);
  const float d1 = (log(s / strike[i]) + (rate + 0.5f * volatility * volatility) * t) / spread;
  const float d2 = d1 - spread;
  const float paid = strike[i] * exp(-rate * t);
  call[i] = s * normal(d1) - paid * normal(d2);
  put[i] = paid * normal(-d2) - s * normal(-d1);
}
