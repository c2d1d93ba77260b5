#pragma OPENCL FP_CONTRACT OFF

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* a1, ulong a1_offset) {
  uint array0[10];
  uint v5, v10;
  ulong v0, v1, v2, v3, v4, v6, v7, v8;
  v0 = high0 - low0;
  v1 = (ulong)get_global_size(0u);
  v2 = (ulong)get_global_id(0u);
  while (v2 < v0) {
    v3 = v2 + low0;
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
    v4 = *(global ulong*)(a0 + (v3 * 8 + a0_offset));
    v5 = 0u;
    for (;;) {
      v6 = v4;
      for (;;) {
        if ((long)v6 < 1l) goto block9;
        v7 = v6 / 10ul;
        v8 = v6 % 10ul;
        if (array0[v8] == 0u) break;
        v6 = v7;
      }
      array0[v8] = 1u;
      const uint v9 = v5 + 1u;
      if (v9 == 10u) break;
      v4 = v7;
      v5 = v9;
    }
    v10 = 10u;
    goto block10;
    block9:;
    v10 = v5;
    block10:;
    *(global uint*)(a1 + (v3 * 4 + a1_offset)) = v10;
    v2 = v2 + v1;
  }
}

