// SPDX-License-Identifier: Apache-2.0
// Natives of module linalg: BLAS and LAPACK on the elements of arrays, where they lie. Those libraries take matrices
// column by column; an array, which stands row by row, is to them its transpose.
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "stdlib/native/call.h"
#include "stdlib/native/linear_library.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

using Int = LinearLibrary::Int;

// An array as these libraries see it: `rows` x `cols`, and `lead` elements from a row to the next one.
template <typename T>
struct Matrix {
  T* data = nullptr;
  Int rows = 0;
  Int cols = 0;
  Int lead = 1;
};

Error wrong_shape() { return error(ErrorCode::kUserTrap, "linalg: the shapes of the arrays do not fit"); }

// With as many threads as parallel loops have, if they have any.
const LinearLibrary* library_for(const vm::NativeCall& call) {
  const std::shared_ptr<ThreadPool>& pool = call.isolate.options().thread_pool;
  return linear_library(pool == nullptr ? 0 : pool->size());
}

Result<const LinearLibrary*> loaded(const vm::NativeCall& call) {
  const LinearLibrary* const library = library_for(call);
  if (library == nullptr) return error(ErrorCode::kUserTrap, "linalg: no library could be loaded");
  return library;
}
template <typename T>
Result<Matrix<T>> matrix(vm::NativeCall& call, unsigned index, Access access) {
  gc::Array& from = *array(call, index);
  const std::int64_t rows = call.isolate.dimension(from, 0), cols = call.isolate.dimension(from, 1);
  constexpr std::int64_t kMost = std::numeric_limits<Int>::max();
  if (rows > kMost || cols > kMost)
    return error(ErrorCode::kUserTrap, "linalg: a library takes at most {} rows and columns", kMost);
  DHPVM_TRY(check_elements(call, from, 0, from.length, access));
  return Matrix<T>{.data = reinterpret_cast<T*>(from.data),
                   .rows = static_cast<Int>(rows),
                   .cols = static_cast<Int>(cols),
                   .lead = std::max(static_cast<Int>(cols), 1)};
}
// The elements of an array of exactly `count`.
template <typename T>
Result<T*> vector(vm::NativeCall& call, unsigned index, Int count, Access access) {
  gc::Array& from = *array(call, index);
  if (from.length != count) return wrong_shape();
  DHPVM_TRY(check_elements(call, from, 0, count, access));
  return reinterpret_cast<T*>(from.data);
}
// Decompositions need room for up to 4 matrices of this order, which LAPACK counts in 32 bits without noticing when
// they do not suffice.
Status check_order(Int order) {
  constexpr Int kMost = 20000;
  if (order <= kMost) return {};
  return error(ErrorCode::kUserTrap, "linalg: a library decomposes matrices of order {} at most, not {}",
               kMost, order);
}
template <typename T>
T scalar(const vm::NativeCall& call, unsigned index) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(call.p[index]));
  else
    return number(call, index);
}
bool flag(const vm::NativeCall& call, unsigned index) { return (call.p[index] & 1) != 0; }

// Calls `step(room, work)` with no room, which says in work[0] how many elements it wants, and again with as many.
template <typename Step>
void with_work(const Step& step) {
  double wanted = 0.0;
  step(Int{-1}, &wanted);
  std::vector<double> work(static_cast<std::size_t>(std::max(wanted, 1.0)));
  step(static_cast<Int>(work.size()), work.data());
}

// C = alpha op(A) op(B) + beta C, rows of C at a time, so that an interrupt is not kept waiting. To the library it
// is the transpose of both sides: the factors change places.
template <typename T>
Status gemm(vm::NativeCall& call, LinearLibrary::Gemm<T> LinearLibrary::* function) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<T> a, matrix<T>(call, 0, Access::kRead));
  DHPVM_ASSIGN(const Matrix<T> b, matrix<T>(call, 1, Access::kRead));
  DHPVM_ASSIGN(const Matrix<T> c, matrix<T>(call, 2, Access::kWrite));
  const T alpha = scalar<T>(call, 0), beta = scalar<T>(call, 1);
  const bool transpose_a = flag(call, 2), transpose_b = flag(call, 3);
  const Int inner = transpose_a ? a.rows : a.cols;
  if ((transpose_a ? a.cols : a.rows) != c.rows || (transpose_b ? b.cols : b.rows) != inner ||
      (transpose_b ? b.rows : b.cols) != c.cols)
    return wrong_shape();
  // Some 50 ms of one core; 256 rows are enough for the library's full speed.
  constexpr double kOperations = 4e9;
  const double row = 2.0 * std::max(inner, 1) * std::max(c.cols, 1);
  const Int most = static_cast<Int>(std::clamp(kOperations / row, 256.0, 1e9));
  for (Int at = 0; at < c.rows;) {
    const Int rows = std::min(c.rows - at, most);
    const T* const part = a.data + static_cast<std::ptrdiff_t>(at) * (transpose_a ? 1 : a.lead);
    (library->*function)(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &c.cols, &rows, &inner, &alpha,
                         b.data, &b.lead, part, &a.lead, &beta,
                         c.data + static_cast<std::ptrdiff_t>(at) * c.lead, &c.lead, 1, 1);
    at += rows;
    DHPVM_TRY(call.isolate.poll());
  }
  return {};
}
// y = alpha op(A) x + beta y.
template <typename T>
Status gemv(vm::NativeCall& call, LinearLibrary::Gemv<T> LinearLibrary::* function) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<T> a, matrix<T>(call, 0, Access::kRead));
  const bool transpose = flag(call, 2);
  DHPVM_ASSIGN(const T* const x, vector<T>(call, 1, transpose ? a.rows : a.cols, Access::kRead));
  DHPVM_ASSIGN(T* const y, vector<T>(call, 2, transpose ? a.cols : a.rows, Access::kWrite));
  const T alpha = scalar<T>(call, 0), beta = scalar<T>(call, 1);
  const Int one = 1;
  if (a.rows == 0 || a.cols == 0) {
    // Libraries return at once then, and y stays what it was.
    const Int count = transpose ? a.cols : a.rows;
    for (T& element : std::span(y, static_cast<std::size_t>(count)))
      element = beta == T{0} ? T{0} : beta * element;
    return {};
  }
  (library->*function)(transpose ? "N" : "T", &a.cols, &a.rows, &alpha, a.data, &a.lead, x, &one, &beta, y,
                       &one, 1);
  return {};
}

}  // namespace

Status linalg_library(vm::NativeCall& call) {
  const LinearLibrary* const library = library_for(call);
  return library == nullptr ? return_null(call) : return_text(call, library->name);
}
Status linalg_gemm_f64(vm::NativeCall& call) { return gemm<double>(call, &LinearLibrary::dgemm); }
Status linalg_gemm_f32(vm::NativeCall& call) { return gemm<float>(call, &LinearLibrary::sgemm); }
Status linalg_gemv_f64(vm::NativeCall& call) { return gemv<double>(call, &LinearLibrary::dgemv); }
Status linalg_gemv_f32(vm::NativeCall& call) { return gemv<float>(call, &LinearLibrary::sgemv); }

Status linalg_lu(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  DHPVM_ASSIGN(Int* const pivots, vector<Int>(call, 1, std::min(a.rows, a.cols), Access::kWrite));
  Int info = 0;
  library->dgetrf(&a.cols, &a.rows, a.data, &a.lead, pivots, &info);
  return {};
}
Status linalg_cholesky(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  if (a.rows != a.cols) return wrong_shape();
  Int info = 0;
  // The lower triangle of rows is the upper one of columns.
  library->dpotrf("U", &a.cols, a.data, &a.lead, &info, 1);
  return_integer(call, 0, info);
  return {};
}
Status linalg_qr(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  DHPVM_ASSIGN(double* const tau, vector<double>(call, 1, std::min(a.rows, a.cols), Access::kWrite));
  Int info = 0;
  with_work([&](Int room, double* work) {
    library->dgeqrf(&a.cols, &a.rows, a.data, &a.lead, tau, work, &room, &info);
  });
  return {};
}
Status linalg_qr_q(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  const Int reflections = std::min(a.rows, a.cols);
  DHPVM_ASSIGN(const double* const tau, vector<double>(call, 1, reflections, Access::kRead));
  Int info = 0;
  with_work([&](Int room, double* work) {
    library->dorgqr(&a.cols, &reflections, &reflections, a.data, &a.lead, tau, work, &room, &info);
  });
  return {};
}
Status linalg_svd(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  DHPVM_ASSIGN(const Matrix<double> u, matrix<double>(call, 1, Access::kWrite));
  DHPVM_ASSIGN(const Matrix<double> vt, matrix<double>(call, 3, Access::kWrite));
  const Int values = std::min(a.rows, a.cols);
  DHPVM_TRY(check_order(values));
  DHPVM_ASSIGN(double* const s, vector<double>(call, 2, values, Access::kWrite));
  if (u.rows != a.rows || u.cols != values || vt.rows != values || vt.cols != a.cols) return wrong_shape();
  std::vector<Int> whole_work(8 * static_cast<std::size_t>(values) + 1);
  Int info = 0;
  // The transpose is V S U', and what stands column by column there stands row by row here.
  with_work([&](Int room, double* work) {
    library->dgesdd("S", &a.cols, &a.rows, a.data, &a.lead, s, vt.data, &vt.lead, u.data, &u.lead, work,
                    &room, whole_work.data(), &info, 1);
  });
  return_integer(call, 0, info);
  return {};
}
Status linalg_eigen_symmetric(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  DHPVM_ASSIGN(double* const values, vector<double>(call, 1, a.rows, Access::kWrite));
  if (a.rows != a.cols) return wrong_shape();
  DHPVM_TRY(check_order(a.rows));
  // As LAPACK's page on dsyevd wants it, 3 + 5 n.
  std::vector<Int> whole_work(3 + 5 * static_cast<std::size_t>(a.rows));
  const auto whole_room = static_cast<Int>(whole_work.size());
  Int info = 0;
  with_work([&](Int room, double* work) {
    const Int whole = room < 0 ? room : whole_room;
    library->dsyevd("V", "U", &a.cols, a.data, &a.lead, values, work, &room, whole_work.data(), &whole, &info,
                    1, 1);
  });
  return_integer(call, 0, info);
  return {};
}
Status linalg_eigenvalues(vm::NativeCall& call) {
  DHPVM_ASSIGN(const LinearLibrary* const library, loaded(call));
  DHPVM_ASSIGN(const Matrix<double> a, matrix<double>(call, 0, Access::kWrite));
  DHPVM_ASSIGN(double* const real, vector<double>(call, 1, a.rows, Access::kWrite));
  DHPVM_ASSIGN(double* const imag, vector<double>(call, 2, a.rows, Access::kWrite));
  if (a.rows != a.cols) return wrong_shape();
  Int info = 0;
  const Int one = 1;
  with_work([&](Int room, double* work) {
    library->dgeev("N", "N", &a.cols, a.data, &a.lead, real, imag, nullptr, &one, nullptr, &one, work, &room,
                   &info, 1, 1);
  });
  return_integer(call, 0, info);
  return {};
}

}  // namespace dhpvm::stdlib
