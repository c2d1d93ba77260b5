// SPDX-License-Identifier: Apache-2.0
// Filters a picture of n x n pixels by 5 x 5 weights, which are the same for all work-items: constant memory.
#pragma OPENCL FP_CONTRACT OFF

kernel void convolution2d(long n, global const float* restrict picture, constant float* restrict weights,
                          global float* restrict out) {
  const long x = get_global_id(0) + 2;
  const long y = get_global_id(1) + 2;
  float sum = 0.0f;
#pragma unroll
  for (int dy = 0; dy < 5; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 5; ++dx) sum += weights[dy * 5 + dx] * picture[(y + dy - 2) * n + x + dx - 2];
  }
  out[y * n + x] = sum;
}
