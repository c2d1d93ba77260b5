#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

void report_trap(global uchar* report, uint site, uint array, ulong index0, ulong index1, ulong index2, ulong operand0, ulong operand1, ulong operand2) {
  bool v11;
  bool more;
  const uint v0 = *(volatile global uint*)(report + 4);
  if (v0 == 1u) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const ulong v1 = *(volatile global ulong*)(report + 16);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const ulong v2 = *(volatile global ulong*)(report + 24);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const ulong v3 = *(volatile global ulong*)(report + 32);
    if (!(((long)index0 < (long)v1) | ((index0 == v1) & (((long)index1 < (long)v2) | ((index1 == v2) & ((long)index2 < (long)v3)))))) return;
  }
  do {
    const uint v4 = atomic_cmpxchg((volatile global uint*)report, 0u, 1u);
    if (v4 == 0u) {
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      const uint v5 = *(volatile global uint*)(report + 4);
      const ulong v6 = *(volatile global ulong*)(report + 16);
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      const ulong v7 = *(volatile global ulong*)(report + 24);
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      const ulong v8 = *(volatile global ulong*)(report + 32);
      const bool v9 = (v5 != 1u) | (((long)index0 < (long)v6) | ((index0 == v6) & (((long)index1 < (long)v7) | ((index1 == v7) & ((long)index2 < (long)v8)))));
      if (v9) {
        *(volatile global uint*)(report + 8) = site;
        *(volatile global uint*)(report + 12) = array;
        *(volatile global ulong*)(report + 40) = operand0;
        *(volatile global ulong*)(report + 48) = operand1;
        *(volatile global ulong*)(report + 56) = operand2;
        *(volatile global ulong*)(report + 32) = index2;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        *(volatile global ulong*)(report + 24) = index1;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        *(volatile global ulong*)(report + 16) = index0;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        *(volatile global uint*)(report + 4) = 1u;
      }
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      atomic_xchg((volatile global uint*)report, 0u);
      v11 = true;
    } else {
      v11 = false;
    }
    more = !v11;
  } while (more);
}

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset, ulong a1_readable, global uchar* RESTRICT a2, ulong a2_offset, global uchar* report, ulong report_offset) {
  global uchar *v0, *v1, *v2;
  ulong v3, v4, v5, v6, v7;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = a2 + a2_offset;
  v3 = high0 - low0;
  v4 = (ulong)get_global_size(0u);
  v5 = (ulong)get_global_id(0u);
  while (v5 < v3) {
    v6 = v5 + low0;
    v7 = *(global ulong*)(v2 + (v6 * 8));
    if (v7 >= a1_readable) {
      global uchar* const v8 = report + report_offset;
      report_trap(v8, 0u, 1u, v6, 0ul, 0ul, v7, 0ul, 0ul);
      break;
    }
    *(global uint*)(v0 + (v6 * 4)) = as_uint(as_float(*(global uint*)(v1 + (v7 * 4))));
    v5 = v5 + v4;
  }
}

