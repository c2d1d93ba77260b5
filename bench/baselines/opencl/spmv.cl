// SPDX-License-Identifier: Apache-2.0
// y = A x for a sparse matrix in compressed form: a work-item for each row.
#pragma OPENCL FP_CONTRACT OFF

kernel void spmv(global const long* restrict row, global const int* restrict column,
                 global const double* restrict value, global const double* restrict x, global double* restrict y) {
  const size_t i = get_global_id(0);
  double sum = 0.0;
  const long end = row[i + 1];
  for (long k = row[i]; k < end; ++k) sum += value[k] * x[column[k]];
  y[i] = sum;
}
