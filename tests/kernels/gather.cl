#pragma OPENCL FP_CONTRACT OFF

void report_trap(global uchar* report, uint site, uint array, ulong index0, ulong index1, ulong index2, ulong operand0, ulong operand1, ulong operand2) {
  bool v7;
  for (;;) {
    const uint v0 = atomic_cmpxchg((volatile global uint*)report, 0u, 1u);
    if (v0 == 0u) {
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      const uint v1 = *(volatile global uint*)(report + 4);
      const ulong v2 = *(volatile global ulong*)(report + 16);
      const ulong v3 = *(volatile global ulong*)(report + 24);
      const ulong v4 = *(volatile global ulong*)(report + 32);
      const bool v5 = (v1 != 1u) | (((long)index0 < (long)v2) | ((index0 == v2) & (((long)index1 < (long)v3) | ((index1 == v3) & ((long)index2 < (long)v4)))));
      if (v5) {
        *(volatile global uint*)(report + 8) = site;
        *(volatile global uint*)(report + 12) = array;
        *(volatile global ulong*)(report + 16) = index0;
        *(volatile global ulong*)(report + 40) = operand0;
        *(volatile global ulong*)(report + 24) = index1;
        *(volatile global ulong*)(report + 48) = operand1;
        *(volatile global ulong*)(report + 32) = index2;
        *(volatile global ulong*)(report + 56) = operand2;
        *(volatile global uint*)(report + 4) = 1u;
      }
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      atomic_xchg((volatile global uint*)report, 0u);
      v7 = true;
    } else {
      v7 = false;
    }
    if (v7) break;
  }
}

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* a1, ulong a1_offset, ulong a1_readable, global uchar* a2, ulong a2_offset, global uchar* report, ulong report_offset) {
  ulong v0, v1, v2, v3, v4;
  v0 = high0 - low0;
  v1 = (ulong)get_global_size(0u);
  v2 = (ulong)get_global_id(0u);
  while (v2 < v0) {
    v3 = v2 + low0;
    v4 = *(global ulong*)(a2 + (v3 * 8 + a2_offset));
    if (v4 >= a1_readable) {
      report_trap(report + report_offset, 0u, 1u, v3, 0ul, 0ul, v4, 0ul, 0ul);
      break;
    }
    *(global uint*)(a0 + (v3 * 4 + a0_offset)) = as_uint(as_float(*(global uint*)(a1 + (v4 * 4 + a1_offset))));
    v2 = v2 + v1;
  }
}

