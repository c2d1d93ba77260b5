// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>

#include "codegen/spmd/divergence.h"
#include "codegen/spmd/field_groups.h"
#include "codegen/spmd/math.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/vectorize.h"
#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

using Live = llvm::SmallPtrSet<const llvm::Value*, 16>;

bool is_vector(const llvm::Value* value, const Divergence& divergence) {
  return !value->getType()->isVoidTy() && divergence.shape(value).is_varying() &&
         !value->getType()->isIntegerTy(1);
}

unsigned bits_of(const llvm::Type* type) {
  if (type->isPointerTy()) return 64;
  return type->isIntegerTy() || type->isFloatingPointTy() ? type->getScalarSizeInBits() : 0;
}

// The element size that most of the work is done in, weighted by how deep in loops it is.
unsigned main_bits(const llvm::Function& scalar, const Divergence& divergence, const llvm::LoopInfo& loops) {
  std::uint64_t narrow = 0;
  std::uint64_t wide = 0;
  for (const llvm::BasicBlock& block : scalar) {
    const std::uint64_t weight = 1ULL << (4 * std::min(loops.getLoopDepth(&block), 6U));
    for (const llvm::Instruction& instruction : block) {
      const llvm::Type* type = instruction.getType();
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        type = store->getValueOperand()->getType();
      } else if (!is_vector(&instruction, divergence)) {
        continue;
      }
      // Addresses have their own width, whatever they refer to.
      if (type->isPointerTy() || llvm::isa<llvm::SExtInst, llvm::ZExtInst>(instruction)) continue;
      if (const unsigned bits = bits_of(type); bits > 32) {
        wide += weight;
      } else if (bits > 0) {
        narrow += weight;
      }
    }
  }
  return wide > narrow ? 64 : 32;
}

// The live values at the end of each block, of those that are vectors.
llvm::DenseMap<const llvm::BasicBlock*, Live> live_out(const llvm::Function& scalar,
                                                       const Divergence& divergence) {
  llvm::DenseMap<const llvm::BasicBlock*, Live> out;
  llvm::DenseMap<const llvm::BasicBlock*, Live> in;
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock* block : llvm::post_order(&scalar)) {
      Live live;
      for (const llvm::BasicBlock* next : llvm::successors(block)) {
        live.insert(in[next].begin(), in[next].end());
        for (const llvm::PHINode& phi : next->phis()) {
          const llvm::Value* value = phi.getIncomingValueForBlock(block);
          if (llvm::isa<llvm::Instruction>(value) && is_vector(value, divergence)) live.insert(value);
        }
      }
      changed |= live.size() != out[block].size();
      out[block] = live;
      for (const llvm::Instruction& instruction : llvm::reverse(*block)) {
        live.erase(&instruction);
        if (llvm::isa<llvm::PHINode>(instruction)) continue;
        for (const llvm::Value* operand : instruction.operands()) {
          if (llvm::isa<llvm::Instruction>(operand) && is_vector(operand, divergence)) live.insert(operand);
        }
      }
      in[block] = live;
    }
  }
  return out;
}

// The most bytes that the vectors of one lane occupy at once.
unsigned pressure(const llvm::Function& scalar, const Divergence& divergence) {
  unsigned most = 0;
  const auto out = live_out(scalar, divergence);
  for (const llvm::BasicBlock& block : scalar) {
    Live live = out.lookup(&block);
    unsigned bits = 0;
    for (const llvm::Value* value : live) bits += bits_of(value->getType());
    most = std::max(most, bits);
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
      if (live.erase(&instruction)) bits -= bits_of(instruction.getType());
      if (llvm::isa<llvm::PHINode>(instruction)) continue;
      for (const llvm::Value* operand : instruction.operands()) {
        if (!llvm::isa<llvm::Instruction>(operand) || !is_vector(operand, divergence)) continue;
        if (live.insert(operand).second) bits += bits_of(operand->getType());
      }
      most = std::max(most, bits);
    }
  }
  return most / 8;
}

// The most bytes of a lane's structure that are moved together, which are in registers as they lie in memory and field
// by field.
unsigned largest_structure(const llvm::Function& scalar, const Divergence& divergence, unsigned vector_bits) {
  const FieldGroups groups(scalar, divergence, vector_bits);
  unsigned largest = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(scalar)) {
    const FieldGroup* const group = groups.find(instruction);
    if (group != nullptr) largest = std::max(largest, group->step * group->bytes);
  }
  return largest;
}

// The work for each native vector, in units of cost_of.
unsigned size_of(const llvm::Function& scalar, const Divergence& divergence) {
  unsigned size = 0;
  for (const llvm::BasicBlock& block : scalar) {
    for (const llvm::Instruction& instruction : block) size += cost_of(instruction, divergence);
  }
  return size;
}

// Whether a node sends lanes different ways for another reason than a trap.
bool splits_often(const Level& level, unsigned node, const Divergence& divergence) {
  if (!divergence.splits(level, node)) return false;
  const llvm::BasicBlock* block = level.nodes[node].block;
  return block == nullptr || llvm::none_of(llvm::successors(block), only_returns);
}

bool exits_often(const Level& level, const ExitEdge& exit, const Regions& regions,
                 const Divergence& divergence) {
  const unsigned node = regions.node_within(level, exit.from);
  if (regions.node_of(exit.from) == node && splits_often(level, node, divergence)) return true;
  const llvm::BitVector& apart = divergence.apart(level, node);
  return llvm::any_of(apart.set_bits(),
                      [&](unsigned other) { return splits_often(level, other, divergence); });
}

bool calls_or_diverges(const llvm::Function& scalar, const Divergence& divergence, const Regions& regions) {
  for (const auto& level : regions.levels()) {
    if (level->loop == nullptr || !divergence.diverges(*level)) continue;
    if (llvm::any_of(level->exits, [&](const ExitEdge& exit) {
          return !only_returns(exit.to) && exits_often(*level, exit, regions, divergence);
        })) {
      return true;
    }
  }
  for (const llvm::BasicBlock& block : scalar) {
    for (const llvm::Instruction& instruction : block) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && is_vector(call, divergence) && !math_function(*call).empty()) return true;
    }
  }
  return false;
}

// Whether masks are put together that come of comparing numbers of 32 bits or more. Without registers for masks, each
// is a vector as wide as what was compared, as long as it is one. Several are packed into one of bytes, to be put
// together, and unpacked for each choice. A loop's lanes wait for each other, and gain more by several vectors than
// that costs.
bool packs_masks(const llvm::Function& scalar, const Divergence& divergence, const Regions& regions,
                 const llvm::LoopInfo& loops, unsigned vector_bits) {
  if (vector_bits > 256 || !loops.empty()) return false;
  unsigned partings = 0;
  for (const llvm::BasicBlock& block : scalar) {
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || branch->isUnconditional()) continue;
    if (!splits_often(regions.level_of(&block), regions.node_of(&block), divergence)) continue;
    const auto* const compared = llvm::dyn_cast<llvm::CmpInst>(branch->getCondition());
    // Branches on indices alone mostly go one way for all lanes at once (edges.h).
    const auto is_data = [&](const llvm::Value* value) {
      return divergence.shape(value).is_varying() && bits_of(value->getType()) >= 32;
    };
    if (compared != nullptr && llvm::any_of(compared->operands(), is_data)) ++partings;
  }
  return partings > 1;
}

}  // namespace

unsigned choose_width(const llvm::Function& function, const std::vector<ArgShape>& args,
                      unsigned vector_bits) {
  // The analyses take functions that they could change, and change nothing.
  auto& scalar = const_cast<llvm::Function&>(function);
  llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  const Regions regions(scalar, loops);
  const Divergence divergence(scalar, regions, args);
  const unsigned size = size_of(function, divergence);
  if (size > kThresholds.too_large_body) return 1;
  const unsigned native = vector_bits / main_bits(function, divergence, loops);
  // A quarter of the registers stays free for constants, masks and what is loaded on the way.
  const unsigned registers = vector_bits == 512 ? 32 : 16;
  const unsigned room = registers * vector_bits / 8 * 3 / 4;
  const unsigned bytes = std::max(
      {pressure(function, divergence), 2 * largest_structure(function, divergence, vector_bits), 1U});
  // Lanes that leave a loop late make the others wait, and around a call all vector registers are saved: both
  // get worse with more lanes. Two vectors still pay, because each waits for its own results most of the
  // time.
  // And so does code, of which a large body has enough: what another vector would fill its waits with, it has as well.
  const bool one_vector =
      size > kThresholds.large_body || packs_masks(function, divergence, regions, loops, vector_bits);
  const unsigned most =
      one_vector ? native : (calls_or_diverges(function, divergence, regions) ? 2 : 4) * native;
  unsigned width = native;
  while (width < most && width < 64 && 2 * width * bytes <= room) width *= 2;
  return std::clamp(width, 2U, 64U);
}

}  // namespace dhpvm::codegen::spmd
