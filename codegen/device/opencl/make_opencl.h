// SPDX-License-Identifier: Apache-2.0
// From the bytecode of a parallel loop to OpenCL C.
#pragma once

#include "codegen/codegen.h"

namespace dhpvm::codegen {

// kUnsupported, with the reason, when the device lacks something that the loop needs.
Result<DeviceCode> make_opencl(const KernelRequest& request, const DeviceTarget& target);

}  // namespace dhpvm::codegen
