#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* partials, ulong partials_offset) {
  local ulong lanes0[256];
  bool v11;
  double v14, v16, v18, v20, v22, v24;
  ulong v0, v1, v2, v3, v4, v5, v8, v9, v10, v13, v15;
  v0 = high0 - low0;
  v1 = (ulong)get_local_id(0u);
  v2 = v1 >> 5ul;
  v3 = v1 & 31ul;
  v4 = (v0 - 1ul) >> 12ul;
  v5 = v4 + 1ul;
  const ulong v6 = (ulong)get_num_groups(1u);
  const ulong v7 = (ulong)get_num_groups(0u);
  v8 = (((ulong)get_num_groups(2u) * v6) * v7) << 3ul;
  v9 = (((((ulong)get_group_id(2u) * v6) + (ulong)get_group_id(1u)) * v7) + (ulong)get_group_id(0u)) << 3ul;
  while (v9 <= v4) {
    v10 = v9 + v2;
    v11 = v10 > v4;
    if (v11) {
      v14 = (-0.0);
    } else {
      const ulong v12 = (v10 % v5) << 12ul;
      v13 = min((v12 + 4096ul), v0);
      v15 = v12 + v3;
      v16 = (-0.0);
      while (v15 < v13) {
        v16 = as_double(*(global ulong*)(a0 + (low0 * 8 + v15 * 8 + a0_offset))) + v16;
        v15 = v15 + 32ul;
      }
      v14 = v16;
    }
    lanes0[v1] = as_ulong(v14);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 16ul) {
      const double v17 = v14 + as_double(lanes0[v1 + 16]);
      lanes0[v1] = as_ulong(v17);
      v18 = v17;
    } else {
      v18 = v14;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 8ul) {
      const double v19 = v18 + as_double(lanes0[v1 + 8]);
      lanes0[v1] = as_ulong(v19);
      v20 = v19;
    } else {
      v20 = v18;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 4ul) {
      const double v21 = v20 + as_double(lanes0[v1 + 4]);
      lanes0[v1] = as_ulong(v21);
      v22 = v21;
    } else {
      v22 = v20;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v3 < 2ul) {
      const double v23 = v22 + as_double(lanes0[v1 + 2]);
      lanes0[v1] = as_ulong(v23);
      v24 = v23;
    } else {
      v24 = v22;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!((v3 != 0ul) | v11)) *(global ulong*)(partials + (v10 * 8 + partials_offset)) = as_ulong(v24 + as_double(lanes0[v1 + 1]));
    barrier(CLK_LOCAL_MEM_FENCE);
    v9 = v9 + v8;
  }
}

