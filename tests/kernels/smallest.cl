#pragma OPENCL FP_CONTRACT OFF

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void dhpvm_kernel(ulong low0, ulong high0, ulong low1, ulong high1, global uchar* a0, ulong a0_offset, ulong a0_dim1, global uchar* partials, ulong partials_offset) {
  local ulong lanes0[256];
  bool v10, v11, v12, v13, v14, v18;
  global uchar *v0, *v15;
  ulong v1, v2, v3, v4, v5, v6, v9, v16, v17, v20, v21, v22, v23, v24, v26, v28, v30, v32;
  v0 = a0 + a0_offset;
  v1 = high1 - low1;
  v2 = (ulong)get_local_id(0u);
  v3 = v2 >> 5ul;
  v4 = v2 & 31ul;
  v5 = ((v1 - 1ul) >> 12ul) + 1ul;
  v6 = v5 * (high0 - low0);
  const ulong v7 = (ulong)get_num_groups(1u);
  const ulong v8 = (ulong)get_num_groups(0u);
  v9 = (((ulong)get_num_groups(2u) * v7) * v8) << 3ul;
  v10 = v4 < 16ul;
  v11 = v4 < 8ul;
  v12 = v4 < 4ul;
  v13 = v4 < 2ul;
  v14 = v4 == 0ul;
  v15 = partials + partials_offset;
  v16 = (((((ulong)get_group_id(2u) * v7) + (ulong)get_group_id(1u)) * v8) + (ulong)get_group_id(0u)) << 3ul;
  while (v16 < v6) {
    v17 = v16 + v3;
    v18 = v17 < v6;
    if (v18) {
      const ulong v19 = (v17 % v5) << 12ul;
      v20 = min((v19 + 4096ul), v1);
      v21 = ((v17 / v5) + low0) * a0_dim1;
      v23 = v19 + v4;
      v24 = 0x7ffffffffffffffful;
      while (v23 < v20) {
        v24 = (ulong)min((long)v24, (long)*(global ulong*)(v0 + (v23 * 8 + v21 * 8 + low1 * 8)));
        v23 = v23 + 32ul;
      }
      v22 = v24;
    } else {
      v22 = 0x7ffffffffffffffful;
    }
    lanes0[v2] = v22;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v10) {
      const ulong v25 = (ulong)min((long)lanes0[v2 + 16], (long)v22);
      lanes0[v2] = v25;
      v26 = v25;
    } else {
      v26 = v22;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v11) {
      const ulong v27 = (ulong)min((long)lanes0[v2 + 8], (long)v26);
      lanes0[v2] = v27;
      v28 = v27;
    } else {
      v28 = v26;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v12) {
      const ulong v29 = (ulong)min((long)lanes0[v2 + 4], (long)v28);
      lanes0[v2] = v29;
      v30 = v29;
    } else {
      v30 = v28;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v13) {
      const ulong v31 = (ulong)min((long)lanes0[v2 + 2], (long)v30);
      lanes0[v2] = v31;
      v32 = v31;
    } else {
      v32 = v30;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(!v14 | !v18)) *(global ulong*)(v15 + (v17 * 8)) = (ulong)min((long)lanes0[v2 + 1], (long)v32);
    barrier(CLK_LOCAL_MEM_FENCE);
    v16 = v16 + v9;
  }
}

