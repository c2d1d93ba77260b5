// SPDX-License-Identifier: Apache-2.0
// Atomic updates on devices: their order, and those that a device does not have.
#pragma once

namespace llvm {
class AtomicRMWInst;
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// The language has atomic updates happen in one order that all iterations agree on; devices promise so for a
// single element only. Puts fences around the updates in the body of a loop, which must be in SSA form,
// unless the difference is unobservable.
void order_updates(llvm::Function& body);

// Replaces an update by a loop around a compare-exchange of integers.
void expand_update(llvm::AtomicRMWInst& update);

}  // namespace dhpvm::codegen
