// SPDX-License-Identifier: Apache-2.0
// Names compiled functions for `perf report`, in the file /tmp/perf-PID.map, which perf reads by default.
//
// LLVM can also write perf's other format, jitdump; in LLVM 19 its header has undefined flags, and perf refuses it.
#pragma once

#include "codegen/cached/load_watch.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

// Writes a line for each loaded function. kIo if the file cannot be written.
Result<LoadWatch> perf_map();

}  // namespace dhpvm::codegen
