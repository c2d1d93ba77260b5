// SPDX-License-Identifier: Apache-2.0
// Atomic updates on devices: their order, and their expansion where a device lacks them.
#pragma once

namespace llvm {
class AtomicRMWInst;
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// The language requires a single order of atomic updates on which all iterations agree; devices guarantee that only for
// a single element. Adds fences around the updates in the body of a loop, which must be in SSA form, unless the
// difference is unobservable.
void order_updates(llvm::Function& body);

// Replaces an update by a loop of integer compare-exchanges.
void expand_update(llvm::AtomicRMWInst& update);

}  // namespace dhpvm::codegen
