// SPDX-License-Identifier: Apache-2.0
// From the bytecode of a parallel loop to PTX.
#pragma once

#include "codegen/codegen.h"
#include "codegen/device/ptx/libdevice.h"

namespace dhpvm::codegen {

// kUnsupported, with the reason, for architectures that LLVM does not know, and when mathematical functions are needed and
// not there.
Result<DeviceCode> make_ptx(const KernelRequest& request, const DeviceTarget& target,
                            const ptx::Libdevice& libdevice);

}  // namespace dhpvm::codegen
