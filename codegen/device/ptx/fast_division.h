// SPDX-License-Identifier: Apache-2.0
// Divisions by captured scalars and by sizes of arrays: a 64-bit division takes a hundred instructions or more, but
// these divisors are known when a kernel is launched.
#pragma once

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen::ptx {

// Replaces such divisions by multiplications with constants that are parameters of the kernel (codegen/division.h). The
// divisors must not be 0 at the division. Other divisions are unchanged.
void divide_by_parameters(DeviceEntry& entry);

}  // namespace dhpvm::codegen::ptx
