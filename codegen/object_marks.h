// SPDX-License-Identifier: Apache-2.0
// Metadata by which the lowering tells the optimiser what a store is for. LLVM drops it where it merges stores, and
// everything is as right without it.
#pragma once

namespace dhpvm::codegen {

// On the store of a new object's header into the memory that was taken for it: the object's size in bytes, a constant.
inline constexpr const char* kNewObjectMark = "dhpvm.new";
// On a store to the reference stack that only keeps an object alive: nothing reads the place but the collector.
inline constexpr const char* kRootMark = "dhpvm.root";

}  // namespace dhpvm::codegen
