// SPDX-License-Identifier: Apache-2.0
// Runs LLVM so that its fatal errors fail only one compilation, not the process.
//
// LLVM reports failures in three ways: as diagnostics, by report_fatal_error, which ends the process unless a handler
// does something else, and by running out of memory. In the last two cases `guarded` returns an error.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "dhpvm/result.h"

namespace dhpvm::codegen {

// Returns the result of `work`; kInternal if LLVM gave up inside it, kOutOfMemory if memory ran out there. In these two
// cases sets `*abandoned`: the frames of `work` and of LLVM were left without running their destructors, so that the
// memory that they own is lost, and the LLVM objects in use are in an unknown state. The caller must leak those:
// destroying them may crash.
//
// Thread-safe, and may be nested. The handlers that it installs in LLVM are process-wide: outside of `guarded` they
// print LLVM's message and LLVM ends the process, as without them.
Status guarded(llvm::function_ref<Status()> work, bool* abandoned);

}  // namespace dhpvm::codegen
