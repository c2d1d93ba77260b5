#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

kernel void dhpvm_kernel(ulong low0, ulong high0, ulong low1, ulong high1, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset, global uchar* RESTRICT a2, ulong a2_offset) {
  global uchar *v0, *v1, *v2;
  ulong v3, v4, v5, v6, v7, v9, v10, v11, v12, v14, v15, v16;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = a2 + a2_offset;
  v3 = high0 - low0;
  v4 = high1 - low1;
  v5 = (ulong)get_local_size(1u);
  v6 = (ulong)get_num_groups(1u);
  if ((v6 * v5) < v3) {
    v7 = ((((v3 - 1ul) / v5) / v6) + 1ul) * v5;
  } else {
    v7 = v5;
  }
  const ulong v8 = min(((ulong)get_group_id(1u) * v7), v3);
  v9 = min((v8 + v7), v3);
  v10 = (ulong)get_global_id(0u);
  v11 = (ulong)get_global_size(0u);
  v12 = v8 + (ulong)get_local_id(1u);
  while (v12 < v9) {
    const ulong v13 = v12 + low0;
    v14 = v13 * 24ul;
    v15 = v13 * 40ul;
    v16 = v10;
    while (v16 < v4) {
      const ulong v17 = v16 + low1;
      const double v18 = ((as_double(*(global ulong*)(v0 + v14)) * as_double(*(global ulong*)(v1 + (v17 * 8)))) + 0.0) + (as_double(*(global ulong*)(v0 + (v14 + 8))) * as_double(*(global ulong*)(v1 + (v17 * 8 + 40))));
      *(global ulong*)(v2 + (v17 * 8 + v15)) = as_ulong(v18 + (as_double(*(global ulong*)(v0 + (v14 + 16))) * as_double(*(global ulong*)(v1 + (v17 * 8 + 80)))));
      v16 = v16 + v11;
    }
    v12 = v12 + v5;
  }
}

