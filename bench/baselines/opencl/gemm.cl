// SPDX-License-Identifier: Apache-2.0
// c = a b for matrices of n x n. REAL: float or double.
#pragma OPENCL FP_CONTRACT OFF

kernel void gemm(long n, global const REAL* restrict a, global const REAL* restrict b, global REAL* restrict c) {
  const long j = get_global_id(0);
  const long i = get_global_id(1);
  REAL sum = 0;
  for (long k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}

// For devices with fast local memory: a group of TILE x TILE computes a tile of c from tiles of a and b that it keeps there.
kernel void gemm_tiled(long n, global const REAL* restrict a, global const REAL* restrict b, global REAL* restrict c) {
  local REAL tile_a[TILE][TILE];
  local REAL tile_b[TILE][TILE];
  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const long j = get_global_id(0);
  const long i = get_global_id(1);
  REAL sum = 0;
  for (long k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[i * n + k + x];
    tile_b[y][x] = b[(k + y) * n + j];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int step = 0; step < TILE; ++step) sum += tile_a[y][step] * tile_b[step][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[i * n + j] = sum;
}
