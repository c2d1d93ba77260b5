// SPDX-License-Identifier: Apache-2.0
// Every place of a plate of n x n takes the mean of its four neighbours. A work-item is a place inside.
#pragma OPENCL FP_CONTRACT OFF

kernel void jacobi(long n, global const double* restrict now, global double* restrict next) {
  const long x = get_global_id(0) + 1;
  const long y = get_global_id(1) + 1;
  const long i = y * n + x;
  next[i] = 0.25 * (now[i - n] + now[i + n] + now[i - 1] + now[i + 1]);
}
