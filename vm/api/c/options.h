// SPDX-License-Identifier: Apache-2.0
// Structures of options in C as those of C++, and back for their defaults.
#pragma once

#include "vm/api/c/states.h"

namespace dhpvm::c {

Result<EngineOptions> engine_options(const dhpvm_engine_options* given);
Result<CompileOptions> compile_options(const dhpvm_compile_options* given);
Result<IsolateOptions> isolate_options(const dhpvm_isolate_options* given);
Result<WorkerOptions> worker_options(const dhpvm_worker_options* given);

}  // namespace dhpvm::c
