#pragma OPENCL FP_CONTRACT OFF

kernel void dhpvm_kernel(ulong low0, ulong high0, ulong low1, ulong high1, global uchar* a0, ulong a0_offset, ulong a0_dim1, global uchar* partials, ulong partials_offset) {
  local ulong lanes0[256];
  bool v11, v12, v13, v14, v15, v19;
  global uchar *v0, *v16;
  ulong v1, v2, v3, v4, v6, v7, v10, v17, v18, v21, v22, v23, v24, v25, v27, v29, v31, v33;
  v0 = a0 + a0_offset;
  v1 = high1 - low1;
  v2 = (ulong)get_local_id(0u);
  v3 = v2 >> 5ul;
  v4 = v2 & 31ul;
  const ulong v5 = (ulong)get_local_size(0u) >> 5ul;
  v6 = ((v1 - 1ul) >> 12ul) + 1ul;
  v7 = v6 * (high0 - low0);
  const ulong v8 = (ulong)get_num_groups(1u);
  const ulong v9 = (ulong)get_num_groups(0u);
  v10 = (((ulong)get_num_groups(2u) * v8) * v9) * v5;
  v11 = v4 < 16ul;
  v12 = v4 < 8ul;
  v13 = v4 < 4ul;
  v14 = v4 < 2ul;
  v15 = v4 == 0ul;
  v16 = partials + partials_offset;
  v17 = (((((ulong)get_group_id(2u) * v8) + (ulong)get_group_id(1u)) * v9) + (ulong)get_group_id(0u)) * v5;
  while (v17 < v7) {
    v18 = v17 + v3;
    v19 = v18 < v7;
    if (v19) {
      const ulong v20 = (v18 % v6) << 12ul;
      v21 = min((v20 + 4096ul), v1);
      v22 = ((v18 / v6) + low0) * a0_dim1;
      v24 = v20 + v4;
      v25 = 0x7ffffffffffffffful;
      while (v24 < v21) {
        v25 = (ulong)min((long)v25, (long)*(global ulong*)(v0 + (v24 * 8 + v22 * 8 + low1 * 8)));
        v24 = v24 + 32ul;
      }
      v23 = v25;
    } else {
      v23 = 0x7ffffffffffffffful;
    }
    lanes0[v2] = v23;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v11) {
      const ulong v26 = (ulong)min((long)lanes0[v2 + 16], (long)v23);
      lanes0[v2] = v26;
      v27 = v26;
    } else {
      v27 = v23;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v12) {
      const ulong v28 = (ulong)min((long)lanes0[v2 + 8], (long)v27);
      lanes0[v2] = v28;
      v29 = v28;
    } else {
      v29 = v27;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v13) {
      const ulong v30 = (ulong)min((long)lanes0[v2 + 4], (long)v29);
      lanes0[v2] = v30;
      v31 = v30;
    } else {
      v31 = v29;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v14) {
      const ulong v32 = (ulong)min((long)lanes0[v2 + 2], (long)v31);
      lanes0[v2] = v32;
      v33 = v32;
    } else {
      v33 = v31;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(!v15 | !v19)) *(global ulong*)(v16 + (v18 * 8)) = (ulong)min((long)lanes0[v2 + 1], (long)v33);
    barrier(CLK_LOCAL_MEM_FENCE);
    v17 = v17 + v10;
  }
}

