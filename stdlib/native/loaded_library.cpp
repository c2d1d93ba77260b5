// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/loaded_library.h"

#include <cstdlib>
#include <string_view>

namespace dhpvm::stdlib {

std::vector<std::string> library_names(const char* variable, std::vector<std::string> usual) {
  const char* const chosen = std::getenv(variable);
  if (chosen == nullptr || *chosen == 0) return usual;
  if (std::string_view(chosen) == "none") return {};
  return {chosen};
}

}  // namespace dhpvm::stdlib
