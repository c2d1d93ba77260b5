// SPDX-License-Identifier: Apache-2.0
// Which processor this is, for keys of compiled code.
#pragma once

#include <string>

namespace dhpvm::codegen {

// All that can be asked about this processor's model and instructions, and what the system lets programs use of them.
// Where it is the same, LLVM finds the same target.
const std::string& processor_identity();

}  // namespace dhpvm::codegen
