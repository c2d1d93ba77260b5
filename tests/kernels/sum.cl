#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* partials, ulong partials_offset) {
  local ulong lanes0[256];
  bool v10, v11, v12, v13, v14, v18;
  double v21, v23, v25, v27, v29, v31;
  global uchar *v0, *v15;
  ulong v1, v2, v3, v4, v5, v6, v9, v16, v17, v20, v22;
  v0 = a0 + a0_offset;
  v1 = high0 - low0;
  v2 = (ulong)get_local_id(0u);
  v3 = v2 >> 5ul;
  v4 = v2 & 31ul;
  v5 = (v1 - 1ul) >> 12ul;
  v6 = v5 + 1ul;
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
  while (v16 <= v5) {
    v17 = v16 + v3;
    v18 = v17 > v5;
    if (v18) {
      v21 = (-0.0);
    } else {
      const ulong v19 = (v17 % v6) << 12ul;
      v20 = min((v19 + 4096ul), v1);
      v22 = v19 + v4;
      v23 = (-0.0);
      while (v22 < v20) {
        v23 = as_double(*(global ulong*)(v0 + (v22 * 8 + low0 * 8))) + v23;
        v22 = v22 + 32ul;
      }
      v21 = v23;
    }
    lanes0[v2] = as_ulong(v21);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v10) {
      const double v24 = v21 + as_double(lanes0[v2 + 16]);
      lanes0[v2] = as_ulong(v24);
      v25 = v24;
    } else {
      v25 = v21;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v11) {
      const double v26 = v25 + as_double(lanes0[v2 + 8]);
      lanes0[v2] = as_ulong(v26);
      v27 = v26;
    } else {
      v27 = v25;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v12) {
      const double v28 = v27 + as_double(lanes0[v2 + 4]);
      lanes0[v2] = as_ulong(v28);
      v29 = v28;
    } else {
      v29 = v27;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v13) {
      const double v30 = v29 + as_double(lanes0[v2 + 2]);
      lanes0[v2] = as_ulong(v30);
      v31 = v30;
    } else {
      v31 = v29;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(!v14 | v18)) *(global ulong*)(v15 + (v17 * 8)) = as_ulong(v31 + as_double(lanes0[v2 + 1]));
    barrier(CLK_LOCAL_MEM_FENCE);
    v16 = v16 + v9;
  }
}

