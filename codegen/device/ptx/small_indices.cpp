// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/ptx/small_indices.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>

#include "codegen/codegen.h"
#include "codegen/device/builtins.h"

namespace dhpvm::codegen::ptx {
namespace {

using llvm::ConstantInt;
using llvm::Instruction;
using llvm::Value;

// An address as the sum of its parts.
struct ElementAddress {
  llvm::Argument* base = nullptr;  // element 0
  llvm::Type* element = nullptr;
  llvm::SmallVector<Value*, 4> terms;  // of the element's index
  std::int64_t position = 0;           // constant part of the index
  std::int64_t bytes = 0;              // offset in the element
};

// The accessed address; null if the instruction accesses no memory.
Value* accessed_by(Instruction& instruction) {
  if (Value* const address = llvm::getLoadStorePointerOperand(&instruction)) return address;
  if (auto* const update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return update->getPointerOperand();
  if (auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return exchange->getPointerOperand();
  return nullptr;
}

class IndexNarrower {
 public:
  IndexNarrower(DeviceEntry& entry, bool has_tiles)
      : entry_(entry),
        has_tiles_(has_tiles),
        function_(*entry.function),
        library_info_(llvm::Triple(function_.getParent()->getTargetTriple())),
        library_(library_info_),
        assumptions_(function_),
        dominators_(function_),
        loops_(dominators_),
        evolution_(function_, library_, assumptions_, dominators_, loops_),
        b_(function_.getContext()) {}

  void run() {
    llvm::SmallVector<Instruction*> all;
    for (Instruction& instruction : llvm::instructions(function_)) all.push_back(&instruction);
    for (Instruction* const instruction : all) visit(*instruction);
    // A value that stays live in 64 bits has its lower half in a register already.
    llvm::SmallVector<llvm::WeakTrackingVH> dead;
    for (Instruction* const instruction : replaced_) dead.emplace_back(instruction);
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
    drop_dead_circles();
    for (const auto& [value, twin] : narrowed_) share(twin);
  }

 private:
  // A value of 64 bits, and its lower half; null if one of them was deleted.
  struct Twin {
    llvm::WeakVH wide;
    llvm::WeakTrackingVH small;
  };

  void visit(Instruction& instruction) {
    if (Value* const address = accessed_by(instruction)) {
      visit_access(instruction, *address);
    } else if (auto* const comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
      visit_comparison(*comparison);
    } else if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(instruction)) {
      if (is_small(instruction.getOperand(0))) instruction.setOperand(0, narrow(instruction.getOperand(0)));
    } else if (instruction.isIntDivRem()) {
      visit_division(instruction);
    } else if (instruction.getOpcode() == Instruction::Trunc && instruction.getType()->isIntegerTy(32) &&
               instruction.getOperand(0)->getType()->isIntegerTy(64)) {
      replace(instruction, narrow(instruction.getOperand(0)));
    }
  }

  // ---- Ranges

  // Whether it is at least 0 and below 2^31.
  bool is_small(Value* value) {
    if (!value->getType()->isIntegerTy(64)) return false;
    return evolution_.getUnsignedRange(evolution_.getSCEV(value))
        .getUnsignedMax()
        .ult(std::uint64_t{1} << 31);
  }

  void visit_comparison(llvm::ICmpInst& comparison) {
    Value* const left = comparison.getOperand(0);
    Value* const right = comparison.getOperand(1);
    if (!is_small(left) || !is_small(right)) return;
    Value* const x = narrow(left);
    Value* const y = narrow(right);
    b_.SetInsertPoint(&comparison);
    replace(comparison, b_.CreateICmp(comparison.getPredicate(), x, y));
  }

  void visit_division(Instruction& division) {
    Value* const left = division.getOperand(0);
    Value* const right = division.getOperand(1);
    if (!is_small(left) || !is_small(right)) return;
    const bool is_remainder =
        division.getOpcode() == Instruction::SRem || division.getOpcode() == Instruction::URem;
    Value* const x = narrow(left);
    Value* const y = narrow(right);
    b_.SetInsertPoint(&division);
    Value* const result = is_remainder ? b_.CreateURem(x, y) : b_.CreateUDiv(x, y);
    replace(division, b_.CreateZExt(result, b_.getInt64Ty(), "", /*IsNonNeg=*/true));
  }

  // ---- Addresses

  // Decomposes an address relative to element 0 of an array.
  bool take_apart(Value* address, ElementAddress& found) {
    while (auto* const step = llvm::dyn_cast<llvm::GetElementPtrInst>(address)) {
      if (step->getNumIndices() != 1) return false;
      Value* const index = step->getOperand(1);
      const std::uint64_t size = size_of(*step->getSourceElementType());
      const auto* const stated = llvm::dyn_cast<ConstantInt>(index);
      if (stated != nullptr && stated->getValue().isSignedIntN(32)) {
        found.bytes += stated->getSExtValue() * static_cast<std::int64_t>(size);
      } else if ((size == 1 && has_tiles_) || (found.element != nullptr && size != size_of(*found.element))) {
        return false;
      } else {
        found.element = step->getSourceElementType();
        add_terms(index, found);
      }
      address = step->getPointerOperand();
    }
    found.base = llvm::dyn_cast<llvm::Argument>(address);
    return found.base != nullptr && !found.terms.empty() &&
           entry_.parameters[found.base->getArgNo()].kind == ParameterKind::kData;
  }

  unsigned depth_of(Value* value) const {
    const auto* const instruction = llvm::dyn_cast<Instruction>(value);
    return instruction == nullptr ? 0 : loops_.getLoopDepth(instruction->getParent());
  }

  std::uint64_t size_of(llvm::Type& type) const {
    return function_.getDataLayout().getTypeAllocSize(&type).getFixedValue();
  }

  // Constants become part of the instruction that accesses memory.
  void add_terms(Value* index, ElementAddress& found) {
    const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(index);
    const bool is_sum =
        sum != nullptr &&
        (sum->getOpcode() == Instruction::Add ||
         (sum->getOpcode() == Instruction::Or && llvm::cast<llvm::PossiblyDisjointInst>(sum)->isDisjoint()));
    if (const auto* const stated = llvm::dyn_cast<ConstantInt>(index)) {
      // Wraps around, as the sum does.
      found.position = static_cast<std::int64_t>(static_cast<std::uint64_t>(found.position) +
                                                 static_cast<std::uint64_t>(stated->getSExtValue()));
    } else if (is_sum) {
      add_terms(sum->getOperand(0), found);
      add_terms(sum->getOperand(1), found);
    } else {
      found.terms.push_back(index);
    }
  }

  void visit_access(Instruction& access, Value& address) {
    if (address.getType()->getPointerAddressSpace() != kGlobalSpace) return;
    ElementAddress found;
    if (!take_apart(&address, found)) return visit_steps(&address);
    // Otherwise the index without its constant part would not fit a signed 32-bit number.
    const auto is_large = [](std::int64_t value) {
      return value <= -kSmallIndices || value >= kSmallIndices;
    };
    if (is_large(found.position) || is_large(found.bytes) || is_large(found.position + found.bytes)) return;
    // Loop-invariant terms come first, so that their sum can be hoisted.
    std::ranges::stable_sort(found.terms, {}, [&](Value* term) { return depth_of(term); });
    llvm::SmallVector<Value*, 4> terms;
    for (Value* const term : found.terms) terms.push_back(narrow(term));
    b_.SetInsertPoint(&access);
    Value* position = terms.front();
    for (Value* const term : llvm::drop_begin(terms)) position = b_.CreateAdd(position, term);
    Value* place = b_.CreateGEP(found.element, found.base, b_.CreateSExt(position, b_.getInt64Ty()));
    const auto size = static_cast<std::int64_t>(size_of(*found.element));
    const std::int64_t bytes = found.bytes + found.position * size;
    if (bytes != 0)
      place = b_.CreateGEP(b_.getInt8Ty(), place, b_.getInt64(static_cast<std::uint64_t>(bytes)));
    note_replaced(&address);
    access.replaceUsesOfWith(&address, place);
  }

  // Offsets from a loop-invariant address, if they are known to be small.
  void visit_steps(Value* address) {
    while (auto* const step = llvm::dyn_cast<llvm::GetElementPtrInst>(address)) {
      if (step->getNumIndices() != 1) return;
      Value* const index = step->getOperand(1);
      if (!llvm::isa<ConstantInt, llvm::SExtInst, llvm::ZExtInst>(index) && is_small(index)) {
        Value* const small = narrow(index);
        b_.SetInsertPoint(step);
        note_replaced(index);
        step->setOperand(1, b_.CreateZExt(small, b_.getInt64Ty(), "", /*IsNonNeg=*/true));
      }
      address = step->getPointerOperand();
    }
  }

  // ---- Lower halves

  // The lower 32 bits of a value, which depend only on those of its operands.
  Value* narrow(Value* value) {
    if (auto* const stated = llvm::dyn_cast<ConstantInt>(value))
      return ConstantInt::get(b_.getInt32Ty(), stated->getValue().trunc(32));
    if (const auto found = narrowed_.find(value); found != narrowed_.end()) return found->second.small;
    auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr) return keep(value, truncated(value));
    if (llvm::isa<llvm::SExtInst, llvm::ZExtInst>(instruction)) {
      Value* const from = instruction->getOperand(0);
      if (from->getType()->isIntegerTy(32)) return keep(value, from);
      if (from->getType()->getIntegerBitWidth() > 32) return keep(value, truncated(value));
      b_.SetInsertPoint(instruction);
      return keep(value, llvm::isa<llvm::SExtInst>(instruction) ? b_.CreateSExt(from, b_.getInt32Ty())
                                                                : b_.CreateZExt(from, b_.getInt32Ty()));
    }
    if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(instruction)) return narrow_phi(*phi);
    if (auto* const choice = llvm::dyn_cast<llvm::SelectInst>(instruction)) {
      Value* const yes = narrow(choice->getTrueValue());
      Value* const no = narrow(choice->getFalseValue());
      b_.SetInsertPoint(choice);
      return keep(value, b_.CreateSelect(choice->getCondition(), yes, no));
    }
    if (auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(instruction)) {
      if (Value* const result = narrow_operation(*operation)) return keep(value, result);
    }
    return keep(value, truncated(value));
  }

  Value* narrow_operation(llvm::BinaryOperator& operation) {
    switch (operation.getOpcode()) {
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Mul:
      case Instruction::And:
      case Instruction::Or:
      case Instruction::Xor: break;
      case Instruction::Shl: {
        const auto* const distance = llvm::dyn_cast<ConstantInt>(operation.getOperand(1));
        if (distance == nullptr || distance->getValue().uge(32)) return nullptr;
        break;
      }
      default: return nullptr;
    }
    Value* const left = narrow(operation.getOperand(0));
    Value* const right = narrow(operation.getOperand(1));
    b_.SetInsertPoint(&operation);
    return b_.CreateBinOp(operation.getOpcode(), left, right);
  }

  Value* narrow_phi(llvm::PHINode& phi) {
    b_.SetInsertPoint(&phi);
    llvm::PHINode* const small = b_.CreatePHI(b_.getInt32Ty(), phi.getNumIncomingValues());
    keep(&phi, small);
    for (unsigned n = 0; n < phi.getNumIncomingValues(); ++n)
      small->addIncoming(narrow(phi.getIncomingValue(n)), phi.getIncomingBlock(n));
    return small;
  }

  Value* truncated(Value* value) {
    if (auto* const instruction = llvm::dyn_cast<Instruction>(value)) {
      b_.SetInsertPoint(*instruction->getInsertionPointAfterDef());
    } else {
      llvm::BasicBlock& entry = function_.getEntryBlock();
      b_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    }
    return b_.CreateTrunc(value, b_.getInt32Ty());
  }

  Value* keep(Value* wide, Value* small) {
    narrowed_.insert({wide, Twin{wide, small}});
    note_replaced(wide);
    return small;
  }

  void note_replaced(Value* value) {
    if (auto* const instruction = llvm::dyn_cast<Instruction>(value)) replaced_.insert(instruction);
  }

  void replace(Instruction& old, Value* value) {
    old.replaceAllUsesWith(value);
    note_replaced(&old);
  }

  // ---- Afterwards

  // Deletes counters whose only use is their own increment.
  void drop_dead_circles() {
    for (llvm::BasicBlock& block : function_) {
      for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis()))
        llvm::RecursivelyDeleteDeadPHINode(&phi);
    }
  }

  void share(const Twin& twin) {
    auto* const wide = llvm::dyn_cast_or_null<Instruction>(static_cast<Value*>(twin.wide));
    auto* const small = llvm::dyn_cast_or_null<Instruction>(static_cast<Value*>(twin.small));
    if (wide == nullptr || small == nullptr || llvm::isa<llvm::SExtInst, llvm::ZExtInst>(wide)) return;
    if (llvm::isa<llvm::TruncInst>(small) || small->use_empty()) return;
    small->replaceAllUsesWith(truncated(wide));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(small);
  }

  DeviceEntry& entry_;
  // Strides lead from row to row of a tile, and not to elements.
  const bool has_tiles_;
  llvm::Function& function_;
  llvm::TargetLibraryInfoImpl library_info_;
  llvm::TargetLibraryInfo library_;
  llvm::AssumptionCache assumptions_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::ScalarEvolution evolution_;
  llvm::IRBuilder<> b_;
  llvm::MapVector<Value*, Twin> narrowed_;
  llvm::SmallSetVector<Instruction*, 16> replaced_;
};

}  // namespace

void narrow_indices(DeviceEntry& entry, bool has_tiles) { IndexNarrower(entry, has_tiles).run(); }

}  // namespace dhpvm::codegen::ptx
