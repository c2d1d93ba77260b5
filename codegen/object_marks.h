// SPDX-License-Identifier: Apache-2.0
// Metadata on stores by which the lowering informs the optimiser. LLVM may drop it, for instance when merging stores,
// without affecting correctness.
#pragma once

namespace dhpvm::codegen {

// On the store of a new object's header: the object's size in bytes, a constant.
inline constexpr const char* kNewObjectMark = "dhpvm.new";
// On a store to the reference stack that only keeps an object alive: only the collector reads the slot.
inline constexpr const char* kRootMark = "dhpvm.root";

}  // namespace dhpvm::codegen
