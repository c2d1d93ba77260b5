// SPDX-License-Identifier: Apache-2.0
// Divisions by captured scalars and by sizes of arrays: a division of 64 bits is a function of a hundred instructions
// or more, and these divisors are known when a kernel is launched.
#pragma once

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen::ptx {

// Replaces them by multiplications with constants that are parameters of the kernel (codegen/division.h). The divisors
// are not 0 where they are divided by. Other divisions are left as they are.
void divide_by_parameters(DeviceEntry& entry);

}  // namespace dhpvm::codegen::ptx
