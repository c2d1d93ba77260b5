// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/linear_library.h"

#include <optional>

#include "base/private_library.h"
#include "stdlib/native/loaded_library.h"

namespace dhpvm::stdlib {
namespace {

void limit_threads(void* library, unsigned threads) {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
  // Only OpenBLAS has these.
  if (threads == 0 || !find_function(library, "openblas_get_num_threads", get) ||
      !find_function(library, "openblas_set_num_threads", set))
    return;
  if (get() > static_cast<int>(threads)) set(static_cast<int>(threads));
}

std::optional<LinearLibrary> load(unsigned threads) {
  // The reference BLAS is not among them, since it is slower than our own loops.
  const OpenedLibrary opened =
      open_first(library_names("DHPVM_BLAS", {"libopenblas.so.0", "libopenblas.so"}));
  if (opened.handle == nullptr) return std::nullopt;
  LinearLibrary out{};
  out.name = opened.path;
  void* const from = opened.handle;
  const bool whole =
      find_function(from, "dgemm_", out.dgemm) && find_function(from, "sgemm_", out.sgemm) &&
      find_function(from, "dgemv_", out.dgemv) && find_function(from, "sgemv_", out.sgemv) &&
      find_function(from, "dgetrf_", out.dgetrf) && find_function(from, "dpotrf_", out.dpotrf) &&
      find_function(from, "dgeqrf_", out.dgeqrf) && find_function(from, "dorgqr_", out.dorgqr) &&
      find_function(from, "dgesdd_", out.dgesdd) && find_function(from, "dsyevd_", out.dsyevd) &&
      find_function(from, "dgeev_", out.dgeev);
  if (!whole) return std::nullopt;
  limit_threads(from, threads);
  return out;
}

}  // namespace

const LinearLibrary* linear_library(unsigned threads) {
  static const std::optional<LinearLibrary> loaded = load(threads);
  return loaded ? &*loaded : nullptr;
}

}  // namespace dhpvm::stdlib
