#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

kernel void dhpvm_kernel(ulong low0, ulong high0, ulong low1, ulong high1, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset, global uchar* RESTRICT a2, ulong a2_offset) {
  global uchar *v0, *v1, *v2;
  ulong v3, v4, v5, v6, v7, v8, v10, v11, v12;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = a2 + a2_offset;
  v3 = high0 - low0;
  v4 = high1 - low1;
  v5 = (ulong)get_global_size(1u);
  v6 = (ulong)get_global_id(0u);
  v7 = (ulong)get_global_size(0u);
  v8 = (ulong)get_global_id(1u);
  while (v8 < v3) {
    const ulong v9 = v8 + low0;
    v10 = v9 * 24ul;
    v11 = v9 * 40ul;
    v12 = v6;
    while (v12 < v4) {
      const ulong v13 = v12 + low1;
      const double v14 = ((as_double(*(global ulong*)(v0 + v10)) * as_double(*(global ulong*)(v1 + (v13 * 8)))) + 0.0) + (as_double(*(global ulong*)(v0 + (v10 + 8))) * as_double(*(global ulong*)(v1 + (v13 * 8 + 40))));
      *(global ulong*)(v2 + (v13 * 8 + v11)) = as_ulong(v14 + (as_double(*(global ulong*)(v0 + (v10 + 16))) * as_double(*(global ulong*)(v1 + (v13 * 8 + 80)))));
      v12 = v12 + v7;
    }
    v8 = v8 + v5;
  }
}

