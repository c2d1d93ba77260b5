// SPDX-License-Identifier: Apache-2.0
// Which arrays a loop only updates, by atomic operations on integers: threads may do so in copies of them.
#pragma once

#include <vector>

#include "bytecode/module.h"
#include "offload/devices/host/update_copies.h"
#include "offload/loops/loop.h"

namespace dhpvm::vm {

// All arrays that this execution of a loop updates, if threads may update copies of each of them; otherwise none.
// `loop` is of a kernel of `module`.
std::vector<offload::UpdatedArray> updated_arrays(const bytecode::Module& module, const offload::Loop& loop);

}  // namespace dhpvm::vm
