// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/lane_costs.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "codegen/spmd/divergence.h"
#include "codegen/spmd/math.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/staging.h"
#include "codegen/spmd/walks.h"

namespace dhpvm::codegen::spmd {
namespace {

const llvm::Type* type_of(const llvm::Instruction& instruction) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store == nullptr ? instruction.getType() : store->getValueOperand()->getType();
}

double bits_of(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const llvm::Type* const element = type->getScalarType();
  const double bits = element->isPointerTy() ? 64 : element->getScalarSizeInBits();
  return vector == nullptr ? bits : bits * vector->getNumElements();
}

double lanes_of(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : vector->getNumElements();
}

double operation(const llvm::Type* type) {
  return type->isVectorTy() ? std::max(1.0, bits_of(type) / 256) * kThroughput.half_vector
                            : kThroughput.scalar;
}

double throughput_of_elements(const llvm::Type* type, double each, unsigned vector_bits) {
  return lanes_of(type) * (vector_bits > 128 ? each : kThroughput.lane_by_lane);
}

double throughput_of_call(const llvm::CallInst& call, unsigned vector_bits) {
  const llvm::Type* const type = call.getType();
  const double vectors = std::max(1.0, bits_of(type) / 512);
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_gather: {
      const double in_512 = bits_of(type->getScalarType()) > 32 ? kThroughput.gather64 : kThroughput.gather32;
      const bool is_full = llvm::isa<llvm::Constant>(call.getArgOperand(2));
      const bool is_narrow = bits_of(type->getScalarType()) < 32;
      const double in_256 =
          is_full ? (is_narrow ? kThroughput.narrow_gather_in_256 : kThroughput.gather_in_256)
                  : (is_narrow ? kThroughput.masked_narrow_gather_in_256 : kThroughput.masked_gather_in_256);
      return throughput_of_elements(type, vector_bits > 256 ? in_512 : in_256, vector_bits);
    }
    case llvm::Intrinsic::masked_scatter:
      return throughput_of_elements(call.getArgOperand(0)->getType(), kThroughput.scatter, vector_bits);
    case llvm::Intrinsic::masked_load: return vectors * kThroughput.masked_access;
    case llvm::Intrinsic::masked_store: {
      const double bits = bits_of(call.getArgOperand(0)->getType());
      return vector_bits > 256 ? std::max(1.0, bits / 512) * kThroughput.masked_access
                               : std::max(1.0, bits / 256) * kThroughput.masked_store_in_256;
    }
    case llvm::Intrinsic::sqrt:
      return type->isVectorTy() ? bits_of(type) / 64 * kThroughput.vector_division : kThroughput.division;
    default: break;
  }
  if (!math_function(call).empty()) {
    return type->isVectorTy() ? bits_of(type) / 64 * kThroughput.function_in_vector : kThroughput.function;
  }
  // Staging has copied its operands before the loop, at little cost.
  if (!llvm::isa<llvm::IntrinsicInst>(call)) return 0;
  return type->isVoidTy() ? 0 : operation(type);
}

double throughput_of(const llvm::Instruction& instruction, unsigned vector_bits) {
  if (llvm::isa<llvm::PHINode, llvm::GetElementPtrInst>(instruction) || instruction.isTerminator()) {
    // Vectors of addresses belong to gathers, which are counted.
    return 0;
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
    return throughput_of_call(*call, vector_bits);
  if (const auto* compared = llvm::dyn_cast<llvm::CmpInst>(&instruction))
    return operation(compared->getOperand(0)->getType());
  const llvm::Type* const type = type_of(instruction);
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) {
    return type->isVectorTy() ? std::max(1.0, bits_of(type) / 512) * kThroughput.access
                              : kThroughput.access_to_one;
  }
  // The same element everywhere is one register, however many stand for it.
  if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction);
      shuffle != nullptr && shuffle->isZeroEltSplat())
    return kThroughput.half_vector;
  if (llvm::isa<llvm::ShuffleVectorInst>(instruction) && bits_of(type) > vector_bits)
    return bits_of(type) / 512 * (vector_bits > 256 ? kThroughput.shuffle : kThroughput.shuffle_in_256);
  if (instruction.getOpcode() == llvm::Instruction::Mul && type->isVectorTy() && vector_bits <= 256 &&
      bits_of(type->getScalarType()) == 64)
    return std::max(1.0, bits_of(type) / 256) * kThroughput.wide_product_in_256;
  if (instruction.getOpcode() == llvm::Instruction::FDiv) {
    return type->isVectorTy() ? bits_of(type) / 64 * kThroughput.vector_division : kThroughput.division;
  }
  if (instruction.isIntDivRem()) {
    if (llvm::isa<llvm::Constant>(instruction.getOperand(1)))
      return lanes_of(type) * kThroughput.integer_division_by_constant;
    return type->isVectorTy() ? lanes_of(type) * kThroughput.integer_division_in_lane
                              : kThroughput.integer_division;
  }
  return operation(type);
}

double latency_of(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::PHINode, llvm::GetElementPtrInst>(instruction)) return 0;
  if (llvm::isa<llvm::LoadInst>(instruction)) return kLatency.load;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    if (call->getIntrinsicID() == llvm::Intrinsic::masked_gather) return kLatency.gather;
    if (call->getIntrinsicID() == llvm::Intrinsic::sqrt) return kLatency.division;
    return math_function(*call).empty() ? kLatency.integer : kLatency.function;
  }
  if (instruction.isIntDivRem() || instruction.getOpcode() == llvm::Instruction::FDiv)
    return kLatency.division;
  const bool floating = instruction.isBinaryOp() && instruction.getType()->isFPOrFPVectorTy();
  return floating || llvm::isa<llvm::FCmpInst>(instruction) ? kLatency.floating : kLatency.integer;
}

// Whether it fills or drains a buffer or a panel, once for each block of turns.
bool copies_block(const llvm::Instruction& instruction) {
  return llvm::any_of(
      std::initializer_list<const char*>{kFillFromRows, kDrainToRows, kPackRows, kPackColumns},
      [&](const char* copy) { return calls(instruction, copy); });
}

class Estimate {
 public:
  Estimate(llvm::Function& function, unsigned vector_bits)
      : function_(function), vector_bits_(vector_bits), dominators_(function), loops_(dominators_) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!copies_block(instruction)) continue;
      if (const llvm::Loop* const loop = loops_.getLoopFor(instruction.getParent()))
        over_blocks_.insert(loop->getHeader());
    }
  }

  // Cycles of the whole function. `parting` gives those at the end of a block, where iterations diverge.
  double cycles(llvm::function_ref<double(const llvm::BasicBlock&)> parting) const {
    double sum = 0;
    llvm::DenseMap<const llvm::Loop*, double> turns;
    for (const llvm::BasicBlock& block : function_) {
      if (is_rare(block)) continue;
      double cost = parting(block);
      for (const llvm::Instruction& instruction : block) cost += throughput_of(instruction, vector_bits_);
      const llvm::Loop* const loop = loops_.getLoopFor(&block);
      if (loop != nullptr && loop->isInnermost()) {
        turns[loop] += cost;
      } else {
        sum += cost * weight(loop);
      }
    }
    for (const auto& [loop, cost] : turns) sum += std::max(cost, chain(*loop)) * weight(loop);
    return sum;
  }

  // How often the loop's turns are done. Staging has cut a loop into blocks, which adds a loop and no turns.
  double weight(const llvm::Loop* loop) const {
    unsigned depth = 0;
    for (; loop != nullptr; loop = loop->getParentLoop())
      depth += over_blocks_.contains(loop->getHeader()) ? 0 : 1;
    return std::pow(kThresholds.turns, std::min(depth, 6U));
  }

  // Whether a branch on the way to `block` is said to be seldom taken.
  bool is_rare(const llvm::BasicBlock& block) const {
    const llvm::DomTreeNode* node = dominators_.getNode(&block);
    for (; node != nullptr && node->getIDom() != nullptr; node = node->getIDom()) {
      const llvm::BasicBlock* const from = node->getBlock()->getSinglePredecessor();
      if (from == nullptr || !from->getTerminator()->hasMetadata(llvm::LLVMContext::MD_prof)) continue;
      const std::optional<unsigned> rare = rare_side(from->getTerminator());
      if (rare && from->getTerminator()->getSuccessor(*rare) == node->getBlock()) return true;
    }
    return false;
  }

 private:
  // The longest way from what a turn begins with to what the next one does.
  double chain(const llvm::Loop& loop) const {
    double longest = 0;
    for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
      llvm::DenseMap<const llvm::Value*, double> known;
      longest =
          std::max(longest, distance(phi.getIncomingValueForBlock(loop.getLoopLatch()), phi, loop, known));
    }
    return longest;
  }

  // From `phi` to `value`, by operands; below 0 where there is no way.
  double distance(const llvm::Value* value, const llvm::PHINode& phi, const llvm::Loop& loop,
                  llvm::DenseMap<const llvm::Value*, double>& known) const {
    constexpr double kNowhere = -1e9;
    if (value == &phi) return 0;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || !loop.contains(instruction)) return kNowhere;
    // Also what ends at itself, in a turn before.
    if (instruction->getParent() == loop.getHeader() && llvm::isa<llvm::PHINode>(instruction))
      return kNowhere;
    const auto [place, is_new] = known.try_emplace(value, kNowhere);
    if (!is_new) return place->second;
    double longest = kNowhere;
    for (const llvm::Value* operand : instruction->operands()) {
      longest = std::max(longest, distance(operand, phi, loop, known));
    }
    return known[value] = longest + latency_of(*instruction);
  }

  llvm::Function& function_;
  const unsigned vector_bits_;
  const llvm::DominatorTree dominators_;
  const llvm::LoopInfo loops_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 4> over_blocks_;  // the headers of staging's loops over blocks
};

// Whether the value is computed from what is read.
bool depends_on_memory(const llvm::Value* value) {
  llvm::SmallVector<const llvm::Value*, 16> work{value};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  while (!work.empty()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(work.pop_back_val());
    if (instruction == nullptr || !seen.insert(instruction).second) continue;
    if (llvm::isa<llvm::LoadInst>(instruction) || calls(*instruction, kStagedLoad)) return true;
    work.append(instruction->op_begin(), instruction->op_end());
  }
  return false;
}

// Whether a side of the branch is more than what the processor does for both and then chooses from.
bool has_long_side(const llvm::BasicBlock& block) {
  return llvm::any_of(llvm::successors(&block), [&](const llvm::BasicBlock* side) {
    if (side->getSinglePredecessor() == nullptr) return false;
    return side->size() > kThresholds.chosen_operations ||
           llvm::any_of(*side,
                        [](const llvm::Instruction& operation) { return operation.mayWriteToMemory(); });
  });
}

// The cost that one iteration alone pays at the end of `block` for going another way than the one before.
double parting_of(const llvm::BasicBlock& block, const LoopAnalyses& analyses) {
  const Level& level = analyses.regions.level_of(&block);
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  // Checks say by weights that they seldom fail.
  const bool is_check = branch != nullptr && branch->hasMetadata(llvm::LLVMContext::MD_prof);
  if (is_check || !analyses.divergence.splits(level, analyses.regions.node_of(&block))) return 0;
  const llvm::Loop* const loop = analyses.loops.getLoopFor(&block);
  const bool leaves =
      loop != nullptr && llvm::any_of(llvm::successors(&block),
                                      [&](const llvm::BasicBlock* next) { return !loop->contains(next); });
  if (leaves || branch == nullptr || !branch->isConditional()) return kThroughput.parting;
  const bool is_on_data = has_long_side(block) && depends_on_memory(branch->getCondition());
  return is_on_data ? kThroughput.parting_on_data : kThroughput.parting;
}

// The cost that each lane pays for going along rows of their own in inner loops.
double rows_of_lanes(llvm::Function& body, const Estimate& estimate, LoopAnalyses& analyses) {
  double sum = 0;
  for (llvm::Instruction& instruction : llvm::instructions(body)) {
    llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction);
    const llvm::Loop* const loop = analyses.loops.getLoopFor(instruction.getParent());
    if (address == nullptr || loop == nullptr || analyses.divergence.shape(address).is_uniform()) continue;
    if (estimate.is_rare(*instruction.getParent())) continue;
    if (walk_of(analyses, address, *loop) == LaneWalk::kRow)
      sum += kThroughput.row_of_lane * estimate.weight(loop);
  }
  return sum;
}

}  // namespace

LaneCosts estimate_costs(const llvm::Function& scalar, const llvm::Function& wide,
                         const SpmdOptions& options) {
  // The analyses take functions that they could change, and change nothing.
  auto& body = const_cast<llvm::Function&>(scalar);
  LoopAnalyses analyses(body, options.args);
  const auto parting = [&](const llvm::BasicBlock& block) { return parting_of(block, analyses); };
  const auto together = [](const llvm::BasicBlock&) { return 0.0; };
  const double several = Estimate(const_cast<llvm::Function&>(wide), options.vector_bits).cycles(together);
  const Estimate one(body, options.vector_bits);
  return {.one = one.cycles(parting),
          .several = several / options.width + rows_of_lanes(body, one, analyses)};
}

}  // namespace dhpvm::codegen::spmd
