// SPDX-License-Identifier: Apache-2.0
// Explains the cost of accesses where neighbouring iterations touch elements that lie apart. Internal to this room.
#pragma once

#include <cstddef>
#include <string>

#include "bytecode/module.h"
#include "offload/loops/footprint.h"

namespace dhpvm::vm {

// "neighbouring iterations read elements 8 apart (line 6): ..." for the first such access to a captured array. Empty if
// there is none, or if the kernel's footprint is unknown.
std::string stride_text(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                        const offload::Footprint& footprint, std::size_t array);

}  // namespace dhpvm::vm
