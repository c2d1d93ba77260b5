// SPDX-License-Identifier: Apache-2.0
// Blurs a picture of n x n pixels: along the rows, then along the columns. Beyond the border, the pixel at the border is
// taken.
#pragma OPENCL FP_CONTRACT OFF

kernel void blur_rows(long n, int radius, global const float* restrict source, constant float* restrict weights,
                      global float* restrict out) {
  const long x = get_global_id(0);
  const long y = get_global_id(1);
  float sum = weights[0] * source[y * n + x];
  for (int i = 1; i <= radius; ++i)
    sum += weights[i] * (source[y * n + max(x - i, 0l)] + source[y * n + min(x + i, n - 1)]);
  out[y * n + x] = sum;
}

kernel void blur_columns(long n, int radius, global const float* restrict source, constant float* restrict weights,
                         global float* restrict out) {
  const long x = get_global_id(0);
  const long y = get_global_id(1);
  float sum = weights[0] * source[y * n + x];
  for (int i = 1; i <= radius; ++i)
    sum += weights[i] * (source[max(y - i, 0l) * n + x] + source[min(y + i, n - 1) * n + x]);
  out[y * n + x] = sum;
}
