// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform by its definition: a work-item for each number of the result.
#pragma OPENCL FP_CONTRACT OFF

kernel void dft(long n, global const double* restrict re, global const double* restrict im,
                global double* restrict out_re, global double* restrict out_im) {
  const long k = get_global_id(0);
  double sum_re = 0.0;
  double sum_im = 0.0;
  for (long t = 0; t < n; ++t) {
    double c;
    const double s = sincos(6.283185307179586477 * (double)(t * k) / (double)n, &c);
    sum_re += re[t] * c + im[t] * s;
    sum_im += im[t] * c - re[t] * s;
  }
  out_re[k] = sum_re;
  out_im[k] = sum_im;
}
