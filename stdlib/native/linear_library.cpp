// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/linear_library.h"

#include <optional>

#include "base/private_library.h"
#include "stdlib/native/loaded_library.h"

namespace dhpvm::stdlib {
namespace {

std::optional<LinearLibrary> load() {
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
  return out;
}

}  // namespace

const LinearLibrary* linear_library() {
  static const std::optional<LinearLibrary> loaded = load();
  return loaded ? &*loaded : nullptr;
}

}  // namespace dhpvm::stdlib
