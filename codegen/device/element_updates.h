// SPDX-License-Identifier: Apache-2.0
// Loops whose only effect on memory is commutative updates of integer elements: sums, which wrap around, minima, maxima
// and bit operations. Their turns may run in any order, and concurrently if the updates are atomic.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <optional>
#include <vector>

namespace dhpvm::codegen {

// An element is loaded, combined with a value, and stored. The combined value has no other use, except as an operand of
// a trap, which does not need it.
struct ElementUpdate {
  llvm::LoadInst* load = nullptr;
  llvm::Instruction* combined = nullptr;
  llvm::StoreInst* store = nullptr;
  llvm::AtomicRMWInst::BinOp operation = llvm::AtomicRMWInst::BAD_BINOP;
  llvm::Value* operand = nullptr;
  unsigned array = 0;  // number of the captured array
};

// All updates in the body of a loop. Empty if there are none, if some do not commute with the others of their array, or
// if the body has other effects: if it writes anything else, or loads what it updates. Arrays that it writes must not
// overlap others. `arrays` has the descriptors. The body has one return, and no accumulators.
std::optional<std::vector<ElementUpdate>> find_updates(llvm::Function& body, const llvm::Argument& arrays);

}  // namespace dhpvm::codegen
