// SPDX-License-Identifier: Apache-2.0
// The scalar product of two vectors, which are padded with zeros to whole short vectors. Each work-item takes every so
// many-th of those; a group adds up its sums in local memory, and the host those of the groups.
// REAL: float or double; VECTOR: short vectors of it.
#pragma OPENCL FP_CONTRACT OFF

kernel void dot_product(long vectors, global const VECTOR* restrict x, global const VECTOR* restrict y,
                        global REAL* restrict partials, local VECTOR* restrict sums) {
  VECTOR sum = 0;
  for (long i = get_global_id(0); i < vectors; i += get_global_size(0)) sum += x[i] * y[i];
  const size_t item = get_local_id(0);
  sums[item] = sum;
  for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < stride) sums[item] += sums[item + stride];
  }
  if (item == 0) {
    const VECTOR all = sums[0];
    REAL total = 0;
    const REAL* const lanes = (const REAL*)&all;
    for (size_t lane = 0; lane < sizeof(VECTOR) / sizeof(REAL); ++lane) total += lanes[lane];
    partials[get_group_id(0)] = total;
  }
}
