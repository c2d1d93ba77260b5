// SPDX-License-Identifier: Apache-2.0
// The command `dhpvm-bench remote` and its options.
#pragma once

#include "dhpvm/dhpvm.h"
#include "options.h"

namespace dhpvm::tools {

// Status of the command line; kInvalidArgument otherwise. The result is the exit code.
Result<int> run_remote(const EngineOptions& base, const Arguments& arguments);

}  // namespace dhpvm::tools
