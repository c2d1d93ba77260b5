// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/staging.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/divergence.h"
#include "codegen/spmd/row_tiles.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// One operand's share of a first cache of 32 KiB, in which the block's part of other rows lies as well.
constexpr std::uint64_t kBufferBytes = std::uint64_t{8} << 10;
// Lanes whose elements are closer share cache lines.
constexpr std::int64_t kLine = 64;
// Loops of fewer turns are not worth a block.
constexpr unsigned kFewTurns = 16;
// More buffers would push each other out of the cache.
constexpr std::size_t kMostBuffers = 4;

struct Operand {
  llvm::LoadInst* load = nullptr;
  const llvm::SCEVAddRecExpr* address = nullptr;
  Value* start = nullptr;  // the address in the first turn, once it is needed
};

// An inner loop that does all of its body in each of a number of turns that the lanes share, and writes no memory: what
// it reads can be read before.
struct StagedLoop {
  llvm::Loop* loop = nullptr;
  BasicBlock* exiting = nullptr;
  BasicBlock* exit = nullptr;
  const llvm::SCEV* back_edges = nullptr;  // taken: one less than turns
  Value* last = nullptr;                   // the same as a value, once it is needed
  std::vector<Operand> operands = {};
};

class Staging {
 public:
  Staging(llvm::Function& function, const SpmdOptions& options, std::optional<unsigned> row)
      : function_(function),
        options_(options),
        layout_(function.getParent()->getDataLayout()),
        dominators_(function),
        loops_(dominators_),
        regions_(function, loops_),
        divergence_(function, regions_, options.args),
        library_names_(llvm::Triple(function.getParent()->getTargetTriple())),
        library_(library_names_, &function),
        assumptions_(function),
        evolution_(function, library_, assumptions_, dominators_, loops_),
        expander_(evolution_, layout_, "staged") {
    if (row) dependence_.emplace(function, *row);
  }

  unsigned run() {
    std::vector<StagedLoop> found;
    std::size_t operands = 0;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      std::optional<StagedLoop> staged = examine(*loop);
      if (!staged) continue;
      operands += staged->operands.size();
      found.push_back(std::move(*staged));
    }
    if (operands == 0 || operands > kMostBuffers) return 0;
    // Before anything is changed that the analyses know.
    for (StagedLoop& staged : found) expand(staged);
    for (const StagedLoop& staged : found) cut_into_blocks(staged);
    return buffers_;
  }

 private:
  std::optional<StagedLoop> examine(llvm::Loop& loop);
  bool can_be_read_ahead(const llvm::Loop& loop, const BasicBlock& exiting) const;
  bool is_uniform(const llvm::SCEV* expression) const;
  bool goes_along_rows(const llvm::LoadInst& load, const llvm::SCEVAddRecExpr& address) const;
  void add_operands(StagedLoop& staged);
  void expand(StagedLoop& staged);
  void cut_into_blocks(const StagedLoop& staged);
  void stage(llvm::IRBuilder<>& before_block, const Operand& operand, Value* done, Value* turns, Value* turn);
  llvm::Function* declare(const llvm::Twine& name, llvm::Type* result,
                          llvm::ArrayRef<llvm::Type*> parameters);

  llvm::Function& function_;
  const SpmdOptions& options_;
  const llvm::DataLayout& layout_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  Regions regions_;
  Divergence divergence_;
  llvm::TargetLibraryInfoImpl library_names_;
  llvm::TargetLibraryInfo library_;
  llvm::AssumptionCache assumptions_;
  llvm::ScalarEvolution evolution_;
  llvm::SCEVExpander expander_;
  std::optional<RowDependence> dependence_;
  unsigned buffers_ = 0;
};

std::optional<StagedLoop> Staging::examine(llvm::Loop& loop) {
  BasicBlock* const exiting = loop.getExitingBlock();
  if (!loop.isInnermost() || exiting == nullptr || loop.getExitBlock() == nullptr) return {};
  if (!can_be_read_ahead(loop, *exiting)) return {};
  const unsigned known_turns = evolution_.getSmallConstantTripCount(&loop);
  if (known_turns != 0 && known_turns < kFewTurns) return {};
  StagedLoop staged{.loop = &loop,
                    .exiting = exiting,
                    .exit = loop.getExitBlock(),
                    .back_edges = evolution_.getBackedgeTakenCount(&loop)};
  if (llvm::isa<llvm::SCEVCouldNotCompute>(staged.back_edges) || !is_uniform(staged.back_edges)) return {};
  const llvm::Instruction* const before = loop.getLoopPreheader()->getTerminator();
  if (evolution_.getTypeSizeInBits(staged.back_edges->getType()) > 64 ||
      !expander_.isSafeToExpandAt(staged.back_edges, before)) {
    return {};
  }
  add_operands(staged);
  if (staged.operands.empty()) return {};
  return staged;
}

// Whether every turn gets to the exit, all lanes leave together, and nothing is written.
bool Staging::can_be_read_ahead(const llvm::Loop& loop, const BasicBlock& exiting) const {
  const BasicBlock* const latch = loop.getLoopLatch();
  if (&exiting != latch && (latch->getSinglePredecessor() != &exiting || latch->size() != 1)) return false;
  if (divergence_.diverges(regions_.level_of(loop.getHeader()))) return false;
  return llvm::all_of(loop.blocks(), [](const BasicBlock* block) {
    return llvm::all_of(*block, [](const llvm::Instruction& instruction) {
      return !instruction.mayHaveSideEffects() && !instruction.isAtomic() && !instruction.isVolatile();
    });
  });
}

// Whether all lanes have the same.
bool Staging::is_uniform(const llvm::SCEV* expression) const {
  return !llvm::SCEVExprContains(expression, [&](const llvm::SCEV* part) {
    if (const auto* moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(part)) {
      return divergence_.diverges(regions_.level_of(moving->getLoop()->getHeader()));
    }
    const auto* value = llvm::dyn_cast<llvm::SCEVUnknown>(part);
    return value != nullptr && !divergence_.shape(value->getValue()).is_uniform();
  });
}

// Of the loads that every turn does.
void Staging::add_operands(StagedLoop& staged) {
  const llvm::Instruction* const before = staged.loop->getLoopPreheader()->getTerminator();
  for (BasicBlock* block : staged.loop->blocks()) {
    if (!dominators_.dominates(block, staged.exiting)) continue;
    for (llvm::Instruction& instruction : *block) {
      auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || !load->isSimple() || (dependence_ && dependence_->differs(*load))) continue;
      const auto* address =
          llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(load->getPointerOperand()));
      if (address == nullptr || address->getLoop() != staged.loop || !goes_along_rows(*load, *address))
        continue;
      if (!expander_.isSafeToExpandAt(address->getStart(), before)) continue;
      staged.operands.push_back({.load = load, .address = address});
    }
  }
}

// Whether the load's elements lie side by side from turn to turn, and far apart from lane to lane.
bool Staging::goes_along_rows(const llvm::LoadInst& load, const llvm::SCEVAddRecExpr& address) const {
  const llvm::Type* const type = load.getType();
  if (!type->isIntegerTy() && !type->isFloatingPointTy()) return false;
  const unsigned bits = type->getScalarSizeInBits();
  if ((bits != 32 && bits != 64) || private_base(load.getPointerOperand()) != nullptr) return false;
  const Shape shape = divergence_.shape(load.getPointerOperand());
  if (shape.is_affine() && std::abs(shape.stride()) < kLine) return false;
  if (!address.isAffine()) return false;
  const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(address.getOperand(1));
  return step != nullptr && step->getAPInt() == bits / 8;
}

void Staging::expand(StagedLoop& staged) {
  llvm::Instruction* const end = staged.loop->getLoopPreheader()->getTerminator();
  staged.last = expander_.expandCodeFor(staged.back_edges, staged.back_edges->getType(), end);
  for (Operand& operand : staged.operands) {
    const llvm::SCEV* const start = operand.address->getStart();
    operand.start = expander_.expandCodeFor(start, start->getType(), end);
  }
}

// Puts a loop over blocks of turns around the loop.
void Staging::cut_into_blocks(const StagedLoop& staged) {
  BasicBlock* const before = staged.loop->getLoopPreheader();
  BasicBlock* const header = staged.loop->getHeader();
  BasicBlock* const latch = staged.loop->getLoopLatch();
  llvm::IRBuilder<> b(before->getTerminator());
  llvm::Type* const number = b.getInt64Ty();
  Value* const total = b.CreateAdd(b.CreateZExtOrTrunc(staged.last, number), b.getInt64(1));

  BasicBlock* const block = BasicBlock::Create(b.getContext(), "block", &function_, header);
  BasicBlock* const over = BasicBlock::Create(b.getContext(), "block.over", &function_, staged.exit);
  before->getTerminator()->replaceSuccessorWith(header, block);
  b.SetInsertPoint(block);
  llvm::PHINode* const done = b.CreatePHI(number, 2);
  for (llvm::PHINode& phi : header->phis()) {
    llvm::PHINode* const carried = b.CreatePHI(phi.getType(), 2);
    carried->addIncoming(phi.getIncomingValueForBlock(before), before);
    carried->addIncoming(phi.getIncomingValueForBlock(latch), over);
    phi.setIncomingValueForBlock(before, carried);
    phi.replaceIncomingBlockWith(before, block);
  }
  std::uint64_t widest = 0;
  for (const Operand& operand : staged.operands) {
    widest = std::max<std::uint64_t>(widest, operand.load->getType()->getScalarSizeInBits() / 8);
  }
  Value* const most = b.getInt64(kBufferBytes / (options_.width * widest));
  Value* const turns = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateSub(total, done), most);
  llvm::PHINode* const turn = llvm::PHINode::Create(number, 2, "turn", header->begin());
  for (const Operand& operand : staged.operands) stage(b, operand, done, turns, turn);
  b.CreateBr(header);

  auto* const branch = llvm::cast<llvm::BranchInst>(staged.exiting->getTerminator());
  BasicBlock* const inside = branch->getSuccessor(branch->getSuccessor(0) == staged.exit ? 1 : 0);
  b.SetInsertPoint(branch);
  Value* const next = b.CreateNUWAdd(turn, b.getInt64(1));
  b.CreateCondBr(b.CreateICmpULT(next, turns), inside, over);
  branch->eraseFromParent();
  turn->addIncoming(b.getInt64(0), block);
  turn->addIncoming(next, latch);
  b.SetInsertPoint(over);
  Value* const all = b.CreateNUWAdd(done, turns);
  done->addIncoming(b.getInt64(0), before);
  done->addIncoming(all, over);
  b.CreateCondBr(b.CreateICmpULT(all, total), block, staged.exit);
  for (llvm::PHINode& phi : staged.exit->phis()) phi.replaceIncomingBlockWith(staged.exiting, over);
}

void Staging::stage(llvm::IRBuilder<>& before_block, const Operand& operand, Value* done, Value* turns,
                    Value* turn) {
  llvm::IRBuilder<> entry(function_.getEntryBlock().getTerminator());
  llvm::IRBuilder<>& b = before_block;
  llvm::Type* const number = b.getInt64Ty();
  llvm::Type* const type = operand.load->getType();
  const unsigned bits = type->getScalarSizeInBits();
  llvm::CallInst* const buffer = entry.CreateCall(declare(kStagingBuffer, b.getPtrTy(), {number, number}),
                                                  {b.getInt64(buffers_++), b.getInt64(kBufferBytes)});
  Value* const row = b.CreateGEP(b.getInt8Ty(), operand.start, b.CreateMul(done, b.getInt64(bits / 8)));
  b.CreateCall(declare(llvm::Twine(kFillFromRows) + ".i" + llvm::Twine(bits), b.getVoidTy(),
                       {b.getPtrTy(), b.getPtrTy(), number}),
               {buffer, row, turns});
  llvm::IRBuilder<> at(operand.load);
  llvm::Function* const load =
      declare(llvm::Twine(kStagedLoad) + (type->isFloatingPointTy() ? ".f" : ".i") + llvm::Twine(bits), type,
              {b.getPtrTy(), number});
  load->setOnlyReadsMemory();
  operand.load->replaceAllUsesWith(at.CreateCall(load, {buffer, turn}));
  operand.load->eraseFromParent();
}

llvm::Function* Staging::declare(const llvm::Twine& name, llvm::Type* result,
                                 llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::FunctionCallee callee = function_.getParent()->getOrInsertFunction(
      name.str(), llvm::FunctionType::get(result, parameters, /*isVarArg=*/false));
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setWillReturn();
  return function;
}

}  // namespace

unsigned stage_operands(llvm::Function& scalar, const SpmdOptions& options, std::optional<unsigned> row) {
  const unsigned staged = Staging(scalar, options, row).run();
  if (staged != 0) bring_into_form(scalar);
  return staged;
}

bool calls(const llvm::Instruction& instruction, const char* name) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && callee->getName().starts_with(name);
}

}  // namespace dhpvm::codegen::spmd
