#pragma OPENCL FP_CONTRACT OFF

kernel void dhpvm_kernel(ulong low0, ulong high0, ulong s0, global uchar* a0, ulong a0_offset, global uchar* a1, ulong a1_offset) {
  ulong v0, v1, v2;
  v0 = high0 - low0;
  v1 = (ulong)get_global_size(0u);
  v2 = (ulong)get_global_id(0u);
  while (v2 < v0) {
    const ulong v3 = v2 + low0;
    *(global uint*)(a0 + (v3 * 4 + a0_offset)) = as_uint((as_float(*(global uint*)(a1 + (v3 * 4 + a1_offset))) * as_float((uint)s0)) + as_float(*(global uint*)(a0 + (v3 * 4 + a0_offset))));
    v2 = v2 + v1;
  }
}

