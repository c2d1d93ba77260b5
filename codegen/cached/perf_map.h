// SPDX-License-Identifier: Apache-2.0
// Names compiled functions for `perf report`: the file /tmp/perf-PID.map, which perf reads by itself.
//
// LLVM can also write perf's other format, jitdump; its header in LLVM 19 has garbage for flags, and perf
// refuses it.
#pragma once

#include "codegen/cached/load_watch.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

// Adds a line for each function that it is told of. kIo when the file cannot be written.
Result<LoadWatch> perf_map();

}  // namespace dhpvm::codegen
