// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/tile_plan.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>

#include "codegen/device/builtins.h"
#include "codegen/device/descriptors.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::SCEV;
using llvm::Value;

constexpr unsigned kLeastTurns = 32;   // a warp loads this many at a time
constexpr unsigned kLeastBytes = 128;  // minimal size of a row: see turns_of_tile()
// Loops of fewer turns are unrolled, and tiles would be mostly empty. Not tuned.
constexpr unsigned kShortLoop = 16;
// In elements: neighbours whose accesses are this close share sectors well enough. Not tuned.
constexpr std::uint64_t kTogether = 2;

class Planner {
 public:
  Planner(llvm::Function& body, llvm::ArrayRef<llvm::Argument*> indices, TileShape shape)
      : body_(body),
        indices_(indices),
        shape_(shape),
        dominators_(body),
        loops_(dominators_),
        library_names_(llvm::Triple(body.getParent()->getTargetTriple())),
        library_(library_names_, &body),
        assumptions_(body),
        evolution_(body, library_, assumptions_, dominators_, loops_) {}

  TilePlan plan(Instruction* begin);

 private:
  struct Operand {
    TiledOperand result;
    const SCEV* address = nullptr;  // varies from turn to turn
    const Value* array = nullptr;
  };

  bool is_known(const SCEV* value) const;
  const SCEV* turns_of(const llvm::Loop& loop, TiledLoop& tiled, const llvm::ICmpInst** guard);
  std::vector<Operand> operands_of(const llvm::Loop& loop);
  bool is_kept_apart(Operand& operand, const llvm::Loop& loop) const;
  bool take_apart(Operand& operand, const llvm::Loop& loop);
  bool is_worth_it(const Operand& operand, llvm::ArrayRef<const SCEV*> strides) const;
  bool is_worth_it(const TiledLoop& loop) const;
  void add_loop(const llvm::Loop& loop, TilePlan& plan);
  Value* expand(const SCEV* value, Instruction* begin);

  llvm::Function& body_;
  const llvm::ArrayRef<llvm::Argument*> indices_;
  const TileShape shape_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::TargetLibraryInfoImpl library_names_;
  llvm::TargetLibraryInfo library_;
  llvm::AssumptionCache assumptions_;
  llvm::ScalarEvolution evolution_;
  const BasicBlock* end_ = nullptr;
};

// Whether the value is uniform, and can be computed at the function's entry.
bool Planner::is_known(const SCEV* value) const {
  return !llvm::SCEVExprContains(value, [&](const SCEV* part) {
    if (llvm::isa<llvm::SCEVAddRecExpr>(part) || llvm::isa<llvm::SCEVCouldNotCompute>(part)) return true;
    const auto* const unknown = llvm::dyn_cast<llvm::SCEVUnknown>(part);
    if (unknown == nullptr) return false;
    if (const auto* const argument = llvm::dyn_cast<llvm::Argument>(unknown->getValue()))
      return llvm::is_contained(indices_, argument);
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(unknown->getValue());
    return load == nullptr || load->getParent() != &body_.getEntryBlock() ||
           load->getPointerAddressSpace() != kPrivateSpace;
  });
}

Value* Planner::expand(const SCEV* value, Instruction* begin) {
  llvm::SCEVExpander expander(evolution_, body_.getParent()->getDataLayout(), "tile",
                              /*PreserveLCSSA=*/false);
  expander.setInsertPoint(begin);
  return expander.expandCodeFor(value, value->getType(), begin);
}

// The number of turns, not counting iterations that skip the loop by `guard`, if that is not null; null if the number
// differs between iterations, or if an iteration may reach the loop several times or not at all.
const SCEV* Planner::turns_of(const llvm::Loop& loop, TiledLoop& tiled, const llvm::ICmpInst** guard) {
  tiled.before = loop.getLoopPredecessor();
  tiled.header = loop.getHeader();
  tiled.latch = loop.getLoopLatch();
  tiled.after = loop.getUniqueExitBlock();
  if (tiled.before == nullptr || tiled.latch == nullptr || tiled.after == nullptr) return nullptr;
  if (loop.getExitingBlock() != tiled.latch) return nullptr;
  const SCEV* const repetitions = evolution_.getBackedgeTakenCount(&loop);
  if (!is_known(repetitions)) return nullptr;
  const SCEV* const turns =
      evolution_.getNoopOrZeroExtend(repetitions, llvm::Type::getInt64Ty(body_.getContext()));
  BasicBlock* decides = tiled.before;
  if (!dominators_.dominates(decides, end_)) {
    // Another condition would be a second guard.
    if (decides->getSingleSuccessor() == nullptr) return nullptr;
    decides = decides->getUniquePredecessor();
  }
  if (decides == nullptr || !dominators_.dominates(decides, end_) || loops_.getLoopFor(decides) != nullptr)
    return nullptr;
  tiled.decides = decides;
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(decides->getTerminator());
  if (branch == nullptr) return nullptr;
  *guard = nullptr;
  if (branch->isConditional()) {
    *guard = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (*guard == nullptr || !llvm::is_contained(branch->successors(), tiled.after)) return nullptr;
    for (Value* const side : (*guard)->operands()) {
      if (!evolution_.isSCEVable(side->getType()) || !is_known(evolution_.getSCEV(side))) return nullptr;
    }
  }
  return evolution_.getAddExpr(turns, evolution_.getOne(turns->getType()));
}

// The addresses that the loop accesses element by element in every turn, as operands.
std::vector<Planner::Operand> Planner::operands_of(const llvm::Loop& loop) {
  llvm::MapVector<const SCEV*, Operand> operands;
  for (BasicBlock* const block : loop.blocks()) {
    for (Instruction& instruction : *block) {
      Value* const address = llvm::getLoadStorePointerOperand(&instruction);
      if (address == nullptr || address->getType()->getPointerAddressSpace() != kGlobalSpace) continue;
      const auto* const moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(address));
      if (moving == nullptr || moving->getLoop() != &loop) continue;
      Operand& operand = operands[moving];
      operand.address = moving;
      operand.array = llvm::getUnderlyingObject(address, 0);
      operand.result.accesses.push_back(&instruction);
    }
  }
  std::vector<Operand> taken;
  for (auto& [address, operand] : operands) {
    llvm::sort(operand.result.accesses, [&](const Instruction* a, const Instruction* b) {
      return a != b && dominators_.dominates(a, b);
    });
    if (is_kept_apart(operand, loop) && take_apart(operand, loop)) taken.push_back(std::move(operand));
  }
  return taken;
}

// Whether all accesses run in every turn, loads before stores, and nothing else in the loop writes the loaded elements
// or accesses the written ones. Arrays that a loop writes overlap no others.
bool Planner::is_kept_apart(Operand& operand, const llvm::Loop& loop) const {
  const BasicBlock* const latch = loop.getLoopLatch();
  const llvm::DataLayout& layout = body_.getParent()->getDataLayout();
  TiledOperand& mine = operand.result;
  for (Instruction* const access : mine.accesses) {
    if (access->isVolatile() || access->isAtomic() || !dominators_.dominates(access->getParent(), latch))
      return false;
    const bool stores = llvm::isa<llvm::StoreInst>(access);
    if (!stores && mine.is_stored) return false;
    (stores ? mine.is_stored : mine.is_loaded) = true;
    llvm::MDNode* const alias = access->getMetadata(llvm::LLVMContext::MD_tbaa);
    mine.type = access == mine.accesses.front() || alias == mine.type ? alias : nullptr;
    llvm::Type* const type = llvm::getLoadStoreType(access);
    const auto bytes = static_cast<unsigned>(layout.getTypeStoreSize(type));
    if (type->isPointerTy() || bytes * 8 != type->getPrimitiveSizeInBits() ||
        (mine.bytes != 0 && mine.bytes != bytes))
      return false;
    mine.bytes = bytes;
  }
  for (BasicBlock* const block : loop.blocks()) {
    for (Instruction& other : *block) {
      if (!other.mayReadOrWriteMemory() || llvm::is_contained(mine.accesses, &other)) continue;
      Value* const address = llvm::getLoadStorePointerOperand(&other);
      if (address == nullptr) return false;
      const Value* const array = llvm::getUnderlyingObject(address, 0);
      // An array's address is loaded from its descriptor.
      const bool is_one = llvm::isa<llvm::LoadInst>(array) || llvm::isa<llvm::AllocaInst>(array);
      const bool matters = mine.is_stored || llvm::isa<llvm::StoreInst>(other);
      if (matters && (!is_one || array == operand.array)) return false;
    }
  }
  return true;
}

// Rows: whether neighbours' accesses are far apart. Squares: whether iterations along one of the indices share the
// operand.
bool Planner::is_worth_it(const Operand& operand, llvm::ArrayRef<const SCEV*> strides) const {
  if (shape_ == TileShape::kSquare)
    return !operand.result.is_stored && strides.front()->isZero() != strides.back()->isZero();
  const auto* const near = llvm::dyn_cast<llvm::SCEVConstant>(strides.back());
  return near == nullptr || near->getAPInt().abs().ugt(kTogether * operand.result.bytes);
}

bool Planner::is_worth_it(const TiledLoop& loop) const {
  const auto depends_on = [&](unsigned index) {
    return llvm::any_of(loop.operands,
                        [&](const TiledOperand& operand) { return operand.strides[index] != nullptr; });
  };
  return shape_ == TileShape::kSquare ? depends_on(0) && depends_on(1) : !loop.operands.empty();
}

// Decomposes the address as a sum over the indices; false if that is impossible or not worthwhile.
bool Planner::take_apart(Operand& operand, const llvm::Loop& loop) {
  const auto* const moving = llvm::cast<llvm::SCEVAddRecExpr>(operand.address);
  const SCEV* const step = moving->getStepRecurrence(evolution_);
  if (!moving->isAffine() || !is_known(step)) return false;
  const auto* const distance = llvm::dyn_cast<llvm::SCEVConstant>(step);
  const bool is_row = distance != nullptr && distance->getAPInt() == operand.result.bytes;
  if (shape_ == TileShape::kRows && !is_row) return false;
  if (!llvm::isa<llvm::LoadInst>(operand.array)) return false;
  const unsigned turns = evolution_.getSmallConstantTripCount(&loop);
  if (turns != 0 && turns < kShortLoop) return false;
  const SCEV* const first = moving->getStart();
  llvm::ValueToSCEVMapTy zeros;
  std::array<const SCEV*, 3> strides = {};
  for (unsigned d = 0; d < indices_.size(); ++d) {
    llvm::Argument* const index = indices_[d];
    const SCEV* const one = evolution_.getOne(index->getType());
    zeros[index] = evolution_.getZero(index->getType());
    llvm::ValueToSCEVMapTy next;
    next[index] = evolution_.getAddExpr(evolution_.getUnknown(index), one);
    strides[d] =
        evolution_.getMinusSCEV(llvm::SCEVParameterRewriter::rewrite(first, evolution_, next), first);
    if (!is_known(strides[d])) return false;
  }
  if (!is_worth_it(operand, llvm::ArrayRef(strides).take_front(indices_.size()))) return false;
  const SCEV* const origin = llvm::SCEVParameterRewriter::rewrite(first, evolution_, zeros);
  if (!is_known(origin)) return false;
  Instruction* const begin = body_.getEntryBlock().getTerminator();
  operand.result.origin = expand(origin, begin);
  operand.result.step = expand(step, begin);
  for (unsigned d = 0; d < indices_.size(); ++d) {
    if (!strides[d]->isZero()) operand.result.strides[d] = expand(strides[d], begin);
  }
  return true;
}

void Planner::add_loop(const llvm::Loop& loop, TilePlan& plan) {
  TiledLoop tiled;
  const llvm::ICmpInst* guard = nullptr;
  const SCEV* const turns = turns_of(loop, tiled, &guard);
  if (turns == nullptr) return;
  for (Operand& operand : operands_of(loop)) tiled.operands.push_back(std::move(operand.result));
  if (!is_worth_it(tiled)) return;
  tiled.blocks = loop.getBlocks();
  for (const BasicBlock* const block : tiled.blocks) tiled.instructions += block->size();
  tiled.turns = expand(turns, plan.begin);
  if (guard != nullptr) {
    llvm::IRBuilder<> b(plan.begin);
    Value* const past =
        b.CreateICmp(guard->getPredicate(), expand(evolution_.getSCEV(guard->getOperand(0)), plan.begin),
                     expand(evolution_.getSCEV(guard->getOperand(1)), plan.begin));
    const bool past_if_true = tiled.decides->getTerminator()->getSuccessor(0) == tiled.after;
    Value* const none = b.getInt64(0);
    tiled.turns =
        past_if_true ? b.CreateSelect(past, none, tiled.turns) : b.CreateSelect(past, tiled.turns, none);
  }
  plan.loops.push_back(std::move(tiled));
}

TilePlan Planner::plan(Instruction* begin) {
  TilePlan plan;
  plan.begin = begin;
  for (const BasicBlock& block : body_) {
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) end_ = &block;
  }
  for (const Instruction& instruction : llvm::instructions(body_)) {
    const bool accesses = llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction);
    if (instruction.isAtomic() || (instruction.mayReadOrWriteMemory() && !accesses)) return plan;
  }
  for (const llvm::Loop* const loop : loops_) {
    if (loop->isInnermost()) add_loop(*loop, plan);
  }
  llvm::sort(plan.loops, [&](const TiledLoop& a, const TiledLoop& b) {
    return a.decides != b.decides && dominators_.dominates(a.decides, b.decides);
  });
  return plan;
}

}  // namespace

unsigned turns_of_tile(unsigned element_bytes) { return std::max(kLeastTurns, kLeastBytes / element_bytes); }

TilePlan plan_tiles(llvm::Function& body, llvm::Argument& arrays, llvm::ArrayRef<llvm::Argument*> indices,
                    TileShape shape) {
  hoist_descriptors(body, arrays);
  // A separate block for the loop-invariant values.
  BasicBlock& entry = body.getEntryBlock();
  BasicBlock::iterator split = entry.getFirstInsertionPt();
  const auto is_hoisted = [&](const Instruction& instruction) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
    if (llvm::isa<llvm::GetElementPtrInst>(instruction))
      return llvm::all_of(instruction.users(),
                          [](const llvm::User* user) { return llvm::isa<llvm::LoadInst>(user); }) &&
             llvm::cast<llvm::GetElementPtrInst>(instruction).getPointerOperand() == &arrays;
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    return load != nullptr && llvm::getUnderlyingObject(load->getPointerOperand()) == &arrays;
  };
  while (split != entry.end() && is_hoisted(*split)) ++split;
  llvm::SplitBlock(&entry, split);
  return Planner(body, indices, shape).plan(entry.getTerminator());
}

}  // namespace dhpvm::codegen
