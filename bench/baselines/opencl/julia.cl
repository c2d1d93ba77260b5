// SPDX-License-Identifier: Apache-2.0
// The Julia set of c as a grey picture of n x n pixels, at most 300 steps.
#pragma OPENCL FP_CONTRACT OFF

kernel void julia(long n, global uchar* restrict picture, float cr, float ci) {
  const long x = get_global_id(0);
  const long y = get_global_id(1);
  float zr = 3.0f * (float)x / (float)n - 1.5f;
  float zi = 3.0f * (float)y / (float)n - 1.5f;
  int i = 0;
  while (i < 300 && zr * zr + zi * zi < 4.0f) {
    const float t = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = t;
    ++i;
  }
  picture[y * n + x] = (uchar)(i * 255 / 300);
}
