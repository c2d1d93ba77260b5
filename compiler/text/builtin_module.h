// SPDX-License-Identifier: Apache-2.0
// A module whose source is part of the program: how the standard library reaches the compiler, which stands
// below it and cannot name it.
#pragma once

#include <string_view>

namespace dhpvm::compiler {

struct BuiltinModule {
  std::string_view name;  // "list"
  std::string_view text;
  bool is_of_host = false;  // written for the host's classes
};

}  // namespace dhpvm::compiler
