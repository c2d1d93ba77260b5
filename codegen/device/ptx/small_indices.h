// SPDX-License-Identifier: Apache-2.0
// Computes indices in 32 bits where KernelRequest::has_small_indices allows it: a GPU has 32-bit registers, and takes
// two instructions for a 64-bit sum, four for a product.
#pragma once

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen::ptx {

// Runs once everything is inlined. The index of an accessed element is at least 0 and below kSmallIndices, so its sums
// and products need only their lower 32 bits, even if they overflow in between. Comparisons, quotients and conversions
// are narrowed where ranges show that their operands are small. `has_tiles`: groups move rows together.
void narrow_indices(DeviceEntry& entry, bool has_tiles);

}  // namespace dhpvm::codegen::ptx
