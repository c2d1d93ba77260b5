#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset, global uchar* RESTRICT a2, ulong a2_offset, global uchar* RESTRICT a3, ulong a3_offset, global uchar* RESTRICT a4, ulong a4_offset) {
  float v11;
  global uchar *v0, *v1, *v2, *v3, *v4;
  ulong v5, v6, v7, v8, v9;
  bool more;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = a2 + a2_offset;
  v3 = a3 + a3_offset;
  v4 = a4 + a4_offset;
  v5 = high0 - low0;
  v6 = (ulong)get_global_size(0u);
  v7 = (ulong)get_global_id(0u);
  while (v7 < v5) {
    v8 = v7 + low0;
    v9 = (ulong)*(global uchar*)(v0 + v8);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_add((volatile global uint*)(v1 + (v9 * 4)), 1u);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    v11 = as_float(*(global uint*)(v2 + (v9 * 4)));
    do {
      const uint v12 = atomic_cmpxchg((volatile global uint*)(v2 + (v9 * 4)), as_uint(v11), as_uint(v11 + 0x1p-1f));
      more = !(v12 == as_uint(v11));
      v11 = as_float(v12);
    } while (more);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const ulong v13 = atom_add((volatile global ulong*)v4, 1ul);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    *(global ulong*)(v3 + (v8 * 8)) = v13;
    v7 = v7 + v6;
  }
}

