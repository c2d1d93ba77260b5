// SPDX-License-Identifier: Apache-2.0
// Counts random points inside a circle, by Philox2x64-10 (Salmon et al., SC 2011). Each group has a part of
// the points, and adds up the counts of its work-items in local memory; the host adds up those of the groups.
kernel void monte_carlo(long n, global long* restrict counts, local long* restrict sums) {
  long count = 0;
  const long part = (n + get_num_groups(0) - 1) / get_num_groups(0);
  const long begin = part * get_group_id(0);
  const long end = min(begin + part, n);
  for (long i = begin + get_local_id(0); i < end; i += get_local_size(0)) {
    ulong key = 1;
    ulong c0 = i;
    ulong c1 = 0;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const ulong high = mul_hi(c0, 0xd2b74407b1ce6e93ul);
      const ulong low = c0 * 0xd2b74407b1ce6e93ul;
      c0 = high ^ key ^ c1;
      c1 = low;
      key += 0x9e3779b97f4a7c15ul;
    }
    const double x = (double)(c0 >> 11) * 1.1102230246251565e-16;
    const double y = (double)(c1 >> 11) * 1.1102230246251565e-16;
    count += x * x + y * y < 1.0;
  }
  const size_t item = get_local_id(0);
  sums[item] = count;
  for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < stride) sums[item] += sums[item + stride];
  }
  if (item == 0) counts[get_group_id(0)] = sums[0];
}
