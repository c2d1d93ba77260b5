#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* partials, ulong partials_offset) {
  local ulong lanes0[256];
  bool v11, v12, v13, v14, v15, v19;
  double v22, v24, v26, v28, v30, v32;
  global uchar *v0, *v16;
  ulong v1, v2, v3, v4, v6, v7, v10, v17, v18, v21, v23;
  v0 = a0 + a0_offset;
  v1 = high0 - low0;
  v2 = (ulong)get_local_id(0u);
  v3 = v2 >> 5ul;
  v4 = v2 & 31ul;
  const ulong v5 = (ulong)get_local_size(0u) >> 5ul;
  v6 = (v1 - 1ul) >> 12ul;
  v7 = v6 + 1ul;
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
  while (v17 <= v6) {
    v18 = v17 + v3;
    v19 = v18 > v6;
    if (v19) {
      v22 = (-0.0);
    } else {
      const ulong v20 = (v18 % v7) << 12ul;
      v21 = min((v20 + 4096ul), v1);
      v23 = v20 + v4;
      v24 = (-0.0);
      while (v23 < v21) {
        v24 = as_double(*(global ulong*)(v0 + (v23 * 8 + low0 * 8))) + v24;
        v23 = v23 + 32ul;
      }
      v22 = v24;
    }
    lanes0[v2] = as_ulong(v22);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v11) {
      const double v25 = v22 + as_double(lanes0[v2 + 16]);
      lanes0[v2] = as_ulong(v25);
      v26 = v25;
    } else {
      v26 = v22;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v12) {
      const double v27 = v26 + as_double(lanes0[v2 + 8]);
      lanes0[v2] = as_ulong(v27);
      v28 = v27;
    } else {
      v28 = v26;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v13) {
      const double v29 = v28 + as_double(lanes0[v2 + 4]);
      lanes0[v2] = as_ulong(v29);
      v30 = v29;
    } else {
      v30 = v28;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v14) {
      const double v31 = v30 + as_double(lanes0[v2 + 2]);
      lanes0[v2] = as_ulong(v31);
      v32 = v31;
    } else {
      v32 = v30;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(!v15 | v19)) *(global ulong*)(v16 + (v18 * 8)) = as_ulong(v32 + as_double(lanes0[v2 + 1]));
    barrier(CLK_LOCAL_MEM_FENCE);
    v17 = v17 + v10;
  }
}

