#pragma OPENCL FP_CONTRACT OFF

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void dhpvm_kernel(ulong low0, ulong high0, ulong low1, ulong high1, global uchar* a0, ulong a0_offset, ulong a0_dim1, global uchar* partials, ulong partials_offset) {
  local ulong lanes0[256];
  bool v11;
  ulong v0, v1, v2, v3, v4, v5, v8, v9, v10, v13, v14, v15, v16, v17, v19, v21, v23, v25;
  v0 = high1 - low1;
  v1 = (ulong)get_local_id(0u);
  v2 = v1 >> 5ul;
  v3 = v1 & 31ul;
  v4 = ((v0 - 1ul) >> 12ul) + 1ul;
  v5 = v4 * (high0 - low0);
  const ulong v6 = (ulong)get_num_groups(1u);
  const ulong v7 = (ulong)get_num_groups(0u);
  v8 = (((ulong)get_num_groups(2u) * v6) * v7) << 3ul;
  v9 = (((((ulong)get_group_id(2u) * v6) + (ulong)get_group_id(1u)) * v7) + (ulong)get_group_id(0u)) << 3ul;
  while (v9 < v5) {
    v10 = v9 + v2;
    v11 = v10 < v5;
    if (v11) {
      const ulong v12 = (v10 % v4) << 12ul;
      v13 = (v10 / v4) + low0;
      v14 = min((v12 + 4096ul), v0);
      v16 = v12 + v3;
      v17 = 0x7ffffffffffffffful;
      while (v16 < v14) {
        v17 = (ulong)min((long)v17, (long)*(global ulong*)(a0 + (low1 * 8 + v16 * 8 + (v13 * a0_dim1) * 8 + a0_offset)));
        v16 = v16 + 32ul;
      }
      v15 = v17;
    } else {
      v15 = 0x7ffffffffffffffful;
    }
    lanes0[v1] = v15;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 16ul) {
      const ulong v18 = (ulong)min((long)lanes0[v1 + 16], (long)v15);
      lanes0[v1] = v18;
      v19 = v18;
    } else {
      v19 = v15;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 8ul) {
      const ulong v20 = (ulong)min((long)lanes0[v1 + 8], (long)v19);
      lanes0[v1] = v20;
      v21 = v20;
    } else {
      v21 = v19;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 4ul) {
      const ulong v22 = (ulong)min((long)lanes0[v1 + 4], (long)v21);
      lanes0[v1] = v22;
      v23 = v22;
    } else {
      v23 = v21;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 2ul) {
      const ulong v24 = (ulong)min((long)lanes0[v1 + 2], (long)v23);
      lanes0[v1] = v24;
      v25 = v24;
    } else {
      v25 = v23;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!((v3 != 0ul) | !v11)) *(global ulong*)(partials + (v10 * 8 + partials_offset)) = (ulong)min((long)lanes0[v1 + 1], (long)v25);
    barrier(CLK_LOCAL_MEM_FENCE);
    v9 = v9 + v8;
  }
}

