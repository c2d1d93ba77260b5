// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/loaded_library.h"

#include <cstdlib>

#include "base/error.h"

namespace dhpvm::stdlib {

std::vector<std::string> library_names(const char* variable, std::vector<std::string> usual) {
  const char* const chosen = std::getenv(variable);
  if (chosen == nullptr || *chosen == 0) return usual;
  if (std::string_view(chosen) == "none") return {};
  return {chosen};
}

Error no_library(std::string_view name) {
  return error(ErrorCode::kNotFound,
               "the library {} is not installed, or has not all functions that are needed", name);
}

}  // namespace dhpvm::stdlib
