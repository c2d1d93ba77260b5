// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/linear_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/private_library.h"

namespace dhpvm::stdlib {
namespace {

// The reference BLAS is not among them, since it is slower than our own loops.
std::vector<std::string> library_names() {
  const char* const chosen = std::getenv("DHPVM_BLAS");
  if (chosen == nullptr || *chosen == 0) return {"libopenblas.so.0", "libopenblas.so"};
  if (std::string_view(chosen) == "none") return {};
  return {chosen};
}

// False if the library lacks the function.
template <typename Function>
bool find(void* handle, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(handle, name));
  return into != nullptr;
}

std::optional<LinearLibrary> load() {
  const OpenedLibrary opened = open_first(library_names());
  if (opened.handle == nullptr) return std::nullopt;
  LinearLibrary out{};
  out.name = opened.path;
  void* const from = opened.handle;
  const bool whole = find(from, "dgemm_", out.dgemm) && find(from, "sgemm_", out.sgemm) &&
                     find(from, "dgemv_", out.dgemv) && find(from, "sgemv_", out.sgemv) &&
                     find(from, "dgetrf_", out.dgetrf) && find(from, "dpotrf_", out.dpotrf) &&
                     find(from, "dgeqrf_", out.dgeqrf) && find(from, "dorgqr_", out.dorgqr) &&
                     find(from, "dgesdd_", out.dgesdd) && find(from, "dsyevd_", out.dsyevd) &&
                     find(from, "dgeev_", out.dgeev);
  if (!whole) return std::nullopt;
  return out;
}

}  // namespace

const LinearLibrary* linear_library() {
  static const std::optional<LinearLibrary> loaded = load();
  return loaded ? &*loaded : nullptr;
}

}  // namespace dhpvm::stdlib
