// SPDX-License-Identifier: Apache-2.0
// The interpreter proper.
#pragma once

#include "vm/context.h"

namespace dhpvm::vm {

// Runs from context.pc until a call returns to kExitCode, or until the program traps and none of the calls since then
// catches it: then context.trap is set. Saves the context's registers in either case.
void interpret(Context& context);

}  // namespace dhpvm::vm
