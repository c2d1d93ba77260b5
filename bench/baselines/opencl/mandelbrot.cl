// SPDX-License-Identifier: Apache-2.0
// The steps for which each of n x n points stays near zero under z = z^2 + c, at most 256 steps.
#pragma OPENCL FP_CONTRACT OFF

kernel void mandelbrot(long n, global int* restrict steps) {
  const long x = get_global_id(0);
  const long y = get_global_id(1);
  const float cr = 3.0f * (float)x / (float)n - 2.25f;
  const float ci = 3.0f * (float)y / (float)n - 1.5f;
  float zr = 0.0f;
  float zi = 0.0f;
  int i = 0;
  while (i < 256 && zr * zr + zi * zi <= 4.0f) {
    const float t = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = t;
    ++i;
  }
  steps[y * n + x] = i;
}
