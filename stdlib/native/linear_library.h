// SPDX-License-Identifier: Apache-2.0
// BLAS and LAPACK, loaded when a program first uses the module `linalg`: nothing needs them to start or to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dhpvm::stdlib {

// Functions by their Fortran names, which every build of these libraries has; integers have 32 bits. Matrices stand
// column by column. Each text argument has its length at the end, as gfortran's calls do.
struct LinearLibrary {
  using Int = std::int32_t;

  std::string name;  // as it was loaded

  template <typename T>
  using Gemm = void (*)(const char* transpose_a, const char* transpose_b, const Int* m, const Int* n,
                        const Int* k, const T* alpha, const T* a, const Int* lda, const T* b, const Int* ldb,
                        const T* beta, T* c, const Int* ldc, std::size_t, std::size_t);
  template <typename T>
  using Gemv = void (*)(const char* transpose, const Int* m, const Int* n, const T* alpha, const T* a,
                        const Int* lda, const T* x, const Int* step_x, const T* beta, T* y, const Int* step_y,
                        std::size_t);
  Gemm<double> dgemm;
  Gemm<float> sgemm;
  Gemv<double> dgemv;
  Gemv<float> sgemv;
  void (*dgetrf)(const Int* m, const Int* n, double* a, const Int* lda, Int* pivots, Int* info);
  void (*dpotrf)(const char* triangle, const Int* n, double* a, const Int* lda, Int* info, std::size_t);
  void (*dgeqrf)(const Int* m, const Int* n, double* a, const Int* lda, double* tau, double* work,
                 const Int* room, Int* info);
  void (*dorgqr)(const Int* m, const Int* n, const Int* k, double* a, const Int* lda, const double* tau,
                 double* work, const Int* room, Int* info);
  void (*dgesdd)(const char* job, const Int* m, const Int* n, double* a, const Int* lda, double* s, double* u,
                 const Int* ldu, double* vt, const Int* ldvt, double* work, const Int* room, Int* whole_work,
                 Int* info, std::size_t);
  void (*dsyevd)(const char* job, const char* triangle, const Int* n, double* a, const Int* lda,
                 double* values, double* work, const Int* room, Int* whole_work, const Int* whole_room,
                 Int* info, std::size_t, std::size_t);
  void (*dgeev)(const char* left, const char* right, const Int* n, double* a, const Int* lda, double* real,
                double* imag, double* left_vectors, const Int* ldl, double* right_vectors, const Int* ldr,
                double* work, const Int* room, Int* info, std::size_t, std::size_t);
};

// The library of this process, loaded by the first call; null if there is none. DHPVM_BLAS names another one, or none.
// `threads` of the first call limits OpenBLAS for all of them, since it has one setting for the process; 0 leaves it.
// OPENBLAS_NUM_THREADS may ask for fewer. Thread-safe.
const LinearLibrary* linear_library(unsigned threads);

}  // namespace dhpvm::stdlib
