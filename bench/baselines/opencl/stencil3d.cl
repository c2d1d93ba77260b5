// SPDX-License-Identifier: Apache-2.0
// Heat in a cube of n x n x n places: each takes from its six neighbours. A work-item is a place inside.
#pragma OPENCL FP_CONTRACT OFF

kernel void stencil3d(long n, global const float* restrict now, global float* restrict next) {
  const long x = get_global_id(0) + 1;
  const long y = get_global_id(1) + 1;
  const long z = get_global_id(2) + 1;
  const long i = (z * n + y) * n + x;
  next[i] = 0.4f * now[i] + 0.1f * (now[i - n * n] + now[i + n * n] + now[i - n] + now[i + n] + now[i - 1] + now[i + 1]);
}
