// SPDX-License-Identifier: Apache-2.0
// Adds bytes, sixteen at a time: what is too bright stays white. The buffers are padded to whole vectors.
kernel void add_image(global const uchar16* restrict a, global const uchar16* restrict b,
                      global uchar16* restrict sum) {
  const size_t i = get_global_id(0);
  sum[i] = add_sat(a[i], b[i]);
}
