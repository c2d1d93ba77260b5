#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* a1, ulong a1_offset, global uchar* a2, ulong a2_offset, global uchar* a3, ulong a3_offset, global uchar* a4, ulong a4_offset) {
  float v6;
  ulong v0, v1, v2, v3, v4;
  v0 = high0 - low0;
  v1 = (ulong)get_global_size(0u);
  v2 = (ulong)get_global_id(0u);
  while (v2 < v0) {
    v3 = v2 + low0;
    v4 = (ulong)*(global uchar*)(a0 + (v3 + a0_offset));
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_add((volatile global uint*)(a1 + (v4 * 4 + a1_offset)), 1u);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    v6 = as_float(*(global uint*)(a2 + (v4 * 4 + a2_offset)));
    for (;;) {
      const uint v7 = atomic_cmpxchg((volatile global uint*)(a2 + (v4 * 4 + a2_offset)), as_uint(v6), as_uint(v6 + 0x1p-1f));
      if (v7 == as_uint(v6)) break;
      v6 = as_float(v7);
    }
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const ulong v8 = atom_add((volatile global ulong*)(a4 + a4_offset), 1ul);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    *(global ulong*)(a3 + (v3 * 8 + a3_offset)) = v8;
    v2 = v2 + v1;
  }
}

