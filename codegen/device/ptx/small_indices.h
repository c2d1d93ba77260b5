// SPDX-License-Identifier: Apache-2.0
// Indices in 32 bits, where KernelRequest::has_small_indices says that these suffice: a GPU has registers of 32 bits,
// and takes two instructions for a sum of 64 bits, four for a product.
#pragma once

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen::ptx {

// Once everything is inlined. The position of an element that is accessed is at least 0 and below kSmallIndices: so
// the sums and products that lead to it need no more than their lower 32 bits, whatever they are in between.
// Comparisons, quotients and conversions are narrowed where ranges show that their operands are small. `has_tiles`:
// groups move rows together.
void narrow_indices(DeviceEntry& entry, bool has_tiles);

}  // namespace dhpvm::codegen::ptx
