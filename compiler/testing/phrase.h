// SPDX-License-Identifier: Apache-2.0
// fmt::format whose arguments are evaluated from left to right, as braces guarantee: arguments take random decisions,
// and the same decisions must give the same program whichever compiler built the generator.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace dhpvm::compiler::testing {

struct Phrase {
  template <typename... Args>
  explicit Phrase(fmt::format_string<Args...> format, Args&&... args)
      : text(fmt::format(format, std::forward<Args>(args)...)) {}

  std::string text;
};

}  // namespace dhpvm::compiler::testing
