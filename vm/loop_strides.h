// SPDX-License-Identifier: Apache-2.0
// Explains what it costs where neighbouring iterations of a loop touch elements that lie apart. Internal to this room.
#pragma once

#include <cstddef>
#include <string>

#include "bytecode/module.h"
#include "offload/loops/footprint.h"

namespace dhpvm::vm {

// "neighbouring iterations read elements 8 apart (line 6): ..." of the first such access to a captured array. Empty if
// there is none, and where the kernel has not been understood.
std::string stride_text(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                        const offload::Footprint& footprint, std::size_t array);

}  // namespace dhpvm::vm
