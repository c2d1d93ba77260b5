// SPDX-License-Identifier: Apache-2.0
// Identifies this processor in keys of compiled code.
#pragma once

#include <string>

namespace dhpvm::codegen {

// The processor's model and instruction sets, and those that the system lets programs use. Equal identities mean that
// LLVM finds equal targets.
const std::string& processor_identity();

}  // namespace dhpvm::codegen
