// SPDX-License-Identifier: Apache-2.0
// The programs in the language that `dhpvm-bench batching` measures, which are part of the tool.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::tools {

struct Kernel {
  std::string_view name;
  std::string_view program;  // its module
  std::int64_t parameter;    // for prepare()
  // The work of one iteration: arithmetic operations, and bytes of memory read and written. Without `rate=` in its
  // name, a simulated device derives its times from these.
  double operations;
  double traffic;
  // The allowed difference of results on different devices, relative to their mean magnitude; 0 if the program uses
  // only exact operations, which give the same bits everywhere.
  double tolerance;
  std::string_view title;
};

std::span<const Kernel> kernels();

// The kernel of that name. kNotFound, with the names that exist.
Result<const Kernel*> find_kernel(std::string_view name);

// The text of an embedded module; kNotFound.
Result<std::string_view> program_text(std::string_view name);

}  // namespace dhpvm::tools
