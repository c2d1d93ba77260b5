// SPDX-License-Identifier: Apache-2.0
// Errors with formatted messages: `return error(ErrorCode::kNotFound, "no function '{}'", name);`
#pragma once

#include <fmt/format.h>

#include "dhpvm/result.h"

namespace dhpvm {

template <typename... Args>
Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace dhpvm
