#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

kernel void dhpvm_kernel(ulong low0, ulong high0, ulong s0, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset) {
  float v4;
  global uchar *v0, *v1;
  ulong v2, v3, v5;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = high0 - low0;
  v3 = (ulong)get_global_size(0u);
  v4 = as_float((uint)s0);
  v5 = (ulong)get_global_id(0u);
  while (v5 < v2) {
    const ulong v6 = v5 + low0;
    *(global uint*)(v0 + (v6 * 4)) = as_uint((as_float(*(global uint*)(v1 + (v6 * 4))) * v4) + as_float(*(global uint*)(v0 + (v6 * 4))));
    v5 = v5 + v3;
  }
}

