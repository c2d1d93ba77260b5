// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/row_tiles.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>

#include "codegen/spmd/divergence.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen::spmd {
namespace {

// More rows gain nothing: with eight, loads are a small part of the work.
constexpr unsigned kMostRows = 8;
// Two vectors in each row: few enough for many rows, and loads for a single row serve both.
constexpr unsigned kVectorsInRow = 2;
// The largest body, in instructions, that is compiled for several rows.
constexpr unsigned kLargestBody = 150;

bool is_trap(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && call->hasFnAttr(kOnceForFirstLane);
}

// Polls of the stop flag are atomic loads, which LLVM counts as writes.
bool writes(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (is_trap(instruction) || (call != nullptr && call->hasFnAttr(kOnceForAllRows))) return false;
  return instruction.mayWriteToMemory() && !llvm::isa<llvm::LoadInst>(instruction);
}

// Whether only fills write the local array.
bool is_staging_buffer(const llvm::AllocaInst& array) {
  llvm::SmallVector<const llvm::Value*, 8> work{&array};
  while (!work.empty()) {
    for (const llvm::User* user : work.pop_back_val()->users()) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (llvm::isa<llvm::LoadInst>(user) || (call != nullptr && call->hasFnAttr(kOnceForAllRows))) continue;
      if (!llvm::isa<llvm::GetElementPtrInst>(user)) return false;
      work.push_back(user);
    }
  }
  return true;
}

// Whether copies of all row-dependent instructions can be interleaved.
bool can_be_tiled(llvm::Function& function, const RowDependence& dependence) {
  return llvm::all_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    const auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (local != nullptr && !is_staging_buffer(*local)) return false;
    if (!dependence.differs(instruction)) return true;
    if (instruction.isTerminator() || instruction.isAtomic() || instruction.isVolatile()) return false;
    return !llvm::isa<llvm::CallInst>(instruction) || llvm::isa<llvm::IntrinsicInst>(instruction);
  });
}

// Counts of an inner loop's values by kind, in vectors of lanes.
struct LoopCounts {
  unsigned carried = 0;  // by each row, from turn to turn
  unsigned bits = 32;    // of the widest element of these
  unsigned shared = 0;   // loaded for all rows
};

LoopCounts count(const llvm::Loop& loop, const RowDependence& dependence, const Divergence& divergence) {
  LoopCounts counts;
  for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (!dependence.differs(phi) || !divergence.shape(&phi).is_varying()) continue;
    ++counts.carried;
    counts.bits = std::max(counts.bits, phi.getType()->getScalarSizeInBits());
  }
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const bool is_shared = llvm::isa<llvm::LoadInst>(instruction) && !dependence.differs(instruction);
      counts.shared += is_shared && divergence.shape(&instruction).is_varying() ? 1 : 0;
    }
  }
  return counts;
}

class RowTiler {
 public:
  RowTiler(llvm::Function& function, unsigned row, unsigned rows, unsigned step)
      : function_(function), dependence_(function, row), copies_(rows) {
    llvm::IRBuilder<> b(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
    llvm::Argument* const index = function.getArg(row);
    for (unsigned n = 1; n < rows; ++n) {
      copies_[n][index] = b.CreateNSWAdd(index, llvm::ConstantInt::get(index->getType(), n * step));
    }
  }

  void run() {
    for (llvm::BasicBlock& block : function_) copy_block(block);
    for (unsigned n = 1; n < copies_.size(); ++n) {
      for (llvm::Instruction* copy : made_[n]) {
        for (llvm::Use& operand : copy->operands()) {
          if (llvm::Value* const own = copies_[n].lookup(operand.get())) operand = own;
        }
      }
    }
  }

 private:
  // Row by row within the block, so that few values are live at once.
  void copy_block(llvm::BasicBlock& block) {
    llvm::SmallVector<llvm::Instruction*, 32> differing;
    for (llvm::Instruction& instruction : block) {
      if (dependence_.differs(instruction)) differing.push_back(&instruction);
    }
    made_.resize(copies_.size());
    for (unsigned n = 1; n < copies_.size(); ++n) {
      for (llvm::Instruction* original : differing) {
        llvm::Instruction* const copy = original->clone();
        if (llvm::isa<llvm::PHINode>(original)) {
          copy->insertAfter(original);
        } else {
          copy->insertBefore(block.getTerminator());
        }
        copies_[n][original] = copy;
        made_[n].push_back(copy);
      }
    }
  }

  llvm::Function& function_;
  const RowDependence dependence_;
  std::vector<llvm::DenseMap<llvm::Value*, llvm::Value*>> copies_;  // for each row but the first
  std::vector<llvm::SmallVector<llvm::Instruction*, 64>> made_;
};

}  // namespace

RowDependence::RowDependence(llvm::Function& function, unsigned row) {
  llvm::SmallVector<const llvm::Value*, 32> work{function.getArg(row)};
  const auto add = [&](const llvm::Instruction& instruction) {
    if (found_.insert(&instruction).second) work.push_back(&instruction);
  };
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (writes(instruction)) add(instruction);
  }
  while (!work.empty()) {
    for (const llvm::User* user : work.pop_back_val()->users()) {
      const auto& instruction = *llvm::cast<llvm::Instruction>(user);
      if (!is_trap(instruction)) add(instruction);
    }
  }
}

RowTile choose_row_tile(const llvm::Function& function, const std::vector<ArgShape>& args, unsigned row,
                        unsigned vector_bits) {
  // The analyses take functions by mutable reference, but change nothing.
  auto& scalar = const_cast<llvm::Function&>(function);
  if (scalar.getInstructionCount() > kLargestBody) return {};
  const RowDependence dependence(scalar, row);
  if (!can_be_tiled(scalar, dependence)) return {};
  llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  const Regions regions(scalar, loops);
  const Divergence divergence(scalar, regions, args);
  const unsigned registers = vector_bits == 512 ? 32 : 16;
  RowTile tile;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    const LoopCounts counts = count(*loop, dependence, divergence);
    if (counts.carried == 0 || counts.shared == 0) continue;
    // One row's results and an operand are in registers besides carried and shared values.
    const auto needed = [&](unsigned rows) {
      return kVectorsInRow * (counts.carried * (rows + 1) + counts.shared) + 1;
    };
    unsigned rows = kMostRows;
    while (rows > 1 && needed(rows) > registers) rows /= 2;
    if (rows == 1) return {};
    tile.rows = tile.rows == 1 ? rows : std::min(tile.rows, rows);
    tile.width = kVectorsInRow * vector_bits / counts.bits;
  }
  return tile;
}

llvm::Function* tile_rows(llvm::Function& wide, unsigned row, unsigned rows, unsigned step) {
  llvm::ValueToValueMapTy copies;
  llvm::Function* const made = llvm::CloneFunction(&wide, copies);
  made->setName(wide.getName() + ".rows" + llvm::Twine(rows));
  if (!can_be_tiled(*made, RowDependence(*made, row))) {
    made->eraseFromParent();
    return nullptr;
  }
  RowTiler(*made, row, rows, step).run();
  return made;
}

}  // namespace dhpvm::codegen::spmd
