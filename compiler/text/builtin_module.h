// SPDX-License-Identifier: Apache-2.0
// A module whose source is part of the program: this brings the standard library to the compiler, which is a lower
// layer and cannot name it.
#pragma once

#include <string_view>

namespace dhpvm::compiler {

struct BuiltinModule {
  std::string_view name;  // "list"
  std::string_view text;
  bool is_of_host = false;  // declares classes of the host
};

}  // namespace dhpvm::compiler
