#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#ifndef RESTRICT
#define RESTRICT restrict
#endif

double exp_to_the_largest(double x) { const double y = exp(x > 700.0 ? 0.5 * x : x); return x > 700.0 ? y * y : y; }
int int_of_double(double x) { return x != x ? 0 : x <= -0x1p31 ? INT_MIN : x >= 0x1p31 ? INT_MAX : (int)x; }

kernel void dhpvm_kernel(ulong low0, ulong high0, global uchar* RESTRICT a0, ulong a0_offset, global uchar* RESTRICT a1, ulong a1_offset, global uchar* RESTRICT a2, ulong a2_offset, global uchar* RESTRICT a3, ulong a3_offset) {
  global uchar *v0, *v1, *v2, *v3;
  ulong v4, v5, v6;
  v0 = a0 + a0_offset;
  v1 = a1 + a1_offset;
  v2 = a2 + a2_offset;
  v3 = a3 + a3_offset;
  v4 = high0 - low0;
  v5 = (ulong)get_global_size(0u);
  v6 = (ulong)get_global_id(0u);
  while (v6 < v4) {
    const ulong v7 = v6 + low0;
    const double v8 = as_double(*(global ulong*)(v0 + (v7 * 8)));
    const double v9 = sin(v8) * exp_to_the_largest(v8);
    *(global uint*)(v1 + (v7 * 4)) = as_uint(pow((float)v9, 0x1.8p+0f));
    *(global uint*)(v2 + (v7 * 4)) = (uint)int_of_double(v9);
    *(global ulong*)(v3 + (v7 * 8)) = mul_hi(*(global ulong*)(v3 + (v7 * 8)), 0x9e3779b97f4a7c15ul) >> 3ul;
    *(global ulong*)(v0 + (v7 * 8)) = as_ulong(fma(v9, v9, round(((v8 > 1.0) ? 1.0 : v8))));
    v6 = v6 + v5;
  }
}

