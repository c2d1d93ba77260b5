#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* RESTRICT a0, ulong a0_offset, ulong a0_dim1, global uchar* RESTRICT a1, ulong a1_offset) {
  bool v4;
  global uchar *v0, *v1;
  uint v9, v10, v12;
  ulong v2, v3, v5, v6, v7, v8;
  bool more;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = high0 - low0;
  v3 = (ulong)get_global_size(0u);
  v4 = (long)a0_dim1 < 1l;
  v5 = (ulong)get_global_id(0u);
  while (v5 < v2) {
    v6 = v5 + low0;
    if (v4) {
      v12 = 0xffffffffu;
    } else {
      v7 = v6 * a0_dim1;
      v8 = 0ul;
      v9 = 0xffffffffu;
      do {
        v10 = (uint)max((int)*(global uint*)(v0 + (v8 * 4 + v7 * 4)), (int)v9);
        const ulong v11 = v8 + 1ul;
        more = v11 != a0_dim1;
        v8 = v11;
        v9 = v10;
      } while (more);
      v12 = v10;
    }
    *(global uint*)(v1 + (v6 * 4)) = v12;
    v5 = v5 + v3;
  }
}

