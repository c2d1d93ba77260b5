// SPDX-License-Identifier: Apache-2.0
// Runs LLVM so that failures for which it would end the process are errors of one compilation.
//
// LLVM reports what it cannot compile in three ways: as diagnostics, by report_fatal_error, which ends the
// process unless a handler does something else, and by lack of memory. Here the last two leave
// `guarded`.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "dhpvm/result.h"

namespace dhpvm::codegen {

// Runs `work` and returns what it returns; kInternal when LLVM gave up inside it, kOutOfMemory when memory
// ran out there. In these two cases `*abandoned` is set: the frames of `work` and of LLVM were left without
// running their destructors, so that what they own is lost, and the LLVM objects that they worked on are in
// an unknown state. The caller must leak those: destroying them may crash.
//
// Any number of threads may be inside at once; a guard inside a guard is allowed. The handlers that this
// installs in LLVM are those of the process: outside of `guarded` they print LLVM's message and LLVM ends the
// process, as it would have done without them.
Status guarded(llvm::function_ref<Status()> work, bool* abandoned);

}  // namespace dhpvm::codegen
