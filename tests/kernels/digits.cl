#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset) {
  uint array0[10];
  global uchar *v0, *v1;
  uint v7, v12;
  ulong v2, v3, v4, v5, v6, v8, v9, v10;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = high0 - low0;
  v3 = (ulong)get_global_size(0u);
  v4 = (ulong)get_global_id(0u);
  while (v4 < v2) {
    v5 = v4 + low0;
    array0[0] = 0u;
    array0[1] = 0u;
    array0[2] = 0u;
    array0[3] = 0u;
    array0[4] = 0u;
    array0[5] = 0u;
    array0[6] = 0u;
    array0[7] = 0u;
    array0[8] = 0u;
    array0[9] = 0u;
    v6 = *(global ulong*)(v0 + (v5 * 8));
    v7 = 0u;
    for (;;) {
      v8 = v6;
      for (;;) {
        if ((long)v8 < 1l) goto block9;
        v9 = v8 / 10ul;
        v10 = v8 % 10ul;
        if (array0[v10] == 0u) break;
        v8 = v9;
      }
      array0[v10] = 1u;
      const uint v11 = v7 + 1u;
      if (v11 == 10u) break;
      v6 = v9;
      v7 = v11;
    }
    v12 = 10u;
    goto block10;
    block9:;
    v12 = v7;
    block10:;
    *(global uint*)(v1 + (v5 * 4)) = v12;
    v4 = v4 + v3;
  }
}

