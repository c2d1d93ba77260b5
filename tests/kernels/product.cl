#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void dhpvm_kernel(ulong low0, ulong high0, ulong low1, ulong high1, global uchar* a0, ulong a0_offset, ulong a0_dim1, global uchar* a1, ulong a1_offset, ulong a1_dim1, global uchar* a2, ulong a2_offset, ulong a2_dim1) {
  double v9, v11, v13;
  ulong v0, v1, v2, v3, v4, v5, v6, v7, v8;
  v0 = high0 - low0;
  v1 = high1 - low1;
  v2 = (ulong)get_global_size(1u);
  v3 = (ulong)get_global_id(1u);
  while (v3 < v0) {
    v4 = v3 + low0;
    v5 = (ulong)get_global_size(0u);
    v6 = (ulong)get_global_id(0u);
    while (v6 < v1) {
      v7 = v6 + low1;
      if ((long)a0_dim1 < 1l) {
        v13 = 0.0;
      } else {
        v8 = 0ul;
        v9 = 0.0;
        for (;;) {
          const double v10 = as_double(*(global ulong*)(a0 + (v8 * 8 + (v4 * a0_dim1) * 8 + a0_offset))) * as_double(*(global ulong*)(a1 + (v7 * 8 + (v8 * a1_dim1) * 8 + a1_offset)));
          v11 = v9 + v10;
          const ulong v12 = v8 + 1ul;
          if ((long)v12 >= (long)a0_dim1) break;
          v8 = v12;
          v9 = v11;
        }
        v13 = v11;
      }
      *(global ulong*)(a2 + (v7 * 8 + (v4 * a2_dim1) * 8 + a2_offset)) = as_ulong(v13);
      v6 = v6 + v5;
    }
    v3 = v3 + v2;
  }
}

