// SPDX-License-Identifier: Apache-2.0
// Loops that do nothing to memory but to update elements of integers, in operations whose order does not show: sums,
// which wrap around, least and greatest numbers, and bits. Their turns may run in any order, and at the same time if
// the updates are atomic.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <optional>
#include <vector>

namespace dhpvm::codegen {

// An element is loaded, combined with a value, and stored. The combined value is needed for nothing else, but can
// be among the operands of a trap, which do not need it.
struct ElementUpdate {
  llvm::LoadInst* load = nullptr;
  llvm::Instruction* combined = nullptr;
  llvm::StoreInst* store = nullptr;
  llvm::AtomicRMWInst::BinOp operation = llvm::AtomicRMWInst::BAD_BINOP;
  llvm::Value* operand = nullptr;
  unsigned array = 0;  // among the captured ones
};

// All updates in the body of a loop. Nothing if there are none, if some do not commute with the others of their array,
// or if the body does more than that: if it writes anything else, or loads what it updates. Arrays that it writes must
// overlap no other ones. `arrays` has the descriptors. The body has one return, and no accumulators.
std::optional<std::vector<ElementUpdate>> find_updates(llvm::Function& body, const llvm::Argument& arrays);

}  // namespace dhpvm::codegen
