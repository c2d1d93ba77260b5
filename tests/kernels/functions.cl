#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

int int_of_double(double x) { return x != x ? 0 : x <= -0x1p31 ? INT_MIN : x >= 0x1p31 ? INT_MAX : (int)x; }

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* a0, ulong a0_offset, global uchar* a1, ulong a1_offset, global uchar* a2, ulong a2_offset, global uchar* a3, ulong a3_offset) {
  ulong v0, v1, v2;
  v0 = high0 - low0;
  v1 = (ulong)get_global_size(0u);
  v2 = (ulong)get_global_id(0u);
  while (v2 < v0) {
    const ulong v3 = v2 + low0;
    const double v4 = as_double(*(global ulong*)(a0 + (v3 * 8 + a0_offset)));
    const double v5 = sin(v4) * exp(v4);
    *(global uint*)(a1 + (v3 * 4 + a1_offset)) = as_uint(pow((float)v5, 0x1.8p+0f));
    *(global uint*)(a2 + (v3 * 4 + a2_offset)) = (uint)int_of_double(v5);
    *(global ulong*)(a3 + (v3 * 8 + a3_offset)) = mul_hi(*(global ulong*)(a3 + (v3 * 8 + a3_offset)), 0x9e3779b97f4a7c15ul) >> 3ul;
    *(global ulong*)(a0 + (v3 * 8 + a0_offset)) = as_ulong(fma(v5, v5, round(((v4 > 1.0) ? 1.0 : v4))));
    v2 = v2 + v1;
  }
}

