// SPDX-License-Identifier: Apache-2.0
// The scalar product of two vectors, which are padded with zeros to whole short vectors. Each group has a part of them, and
// adds up the sums of its work-items in local memory; the host adds up those of the groups.
// VECTOR: float16 or double8.
#pragma OPENCL FP_CONTRACT OFF

kernel void dot_product(long vectors, global const VECTOR* restrict x, global const VECTOR* restrict y,
                        global VECTOR* restrict partials, local VECTOR* restrict sums) {
  const long part = (vectors + get_num_groups(0) - 1) / get_num_groups(0);
  const long begin = part * get_group_id(0);
  const long end = min(begin + part, vectors);
  VECTOR sum = 0;
  for (long i = begin + get_local_id(0); i < end; i += get_local_size(0)) sum += x[i] * y[i];
  const size_t item = get_local_id(0);
  sums[item] = sum;
  for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < stride) sums[item] += sums[item + stride];
  }
  if (item == 0) partials[get_group_id(0)] = sums[0];
}
