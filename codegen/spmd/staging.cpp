// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/staging.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/row_tiles.h"
#include "codegen/spmd/staged_loop.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// One operand's share of an L1 cache of 32 KiB, which also holds the block's part of other rows.
constexpr std::uint64_t kBufferBytes = std::uint64_t{8} << 10;
// Lanes whose elements are closer share cache lines.
constexpr std::int64_t kLine = 64;
// Loops of fewer turns are not cut into blocks.
constexpr unsigned kFewTurns = 16;
// More buffers in a loop would evict each other from the cache.
constexpr std::size_t kMostBuffers = 4;

llvm::Type* type_of(const llvm::Instruction& access) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access);
  return store == nullptr ? access.getType() : store->getValueOperand()->getType();
}
std::uint64_t bytes_of(const llvm::Instruction& access) { return type_of(access)->getScalarSizeInBits() / 8; }

class Staging {
 public:
  Staging(llvm::Function& function, const StagingOptions& options)
      : function_(function),
        options_(options.spmd),
        turns_are_iterations_(options.turns_are_iterations),
        panel_memory_(options.panels),
        layout_(function.getParent()->getDataLayout()),
        analyses_(function, options.spmd.args),
        expander_(analyses_.evolution, layout_, "staged") {
    if (options.row) dependence_.emplace(function, *options.row);
  }

  StagedOperands run() {
    std::vector<StagedLoop> found;
    StagedOperands operands;
    for (llvm::Loop* loop : analyses_.loops.getLoopsInPreorder()) {
      std::optional<StagedLoop> staged = examine(*loop);
      if (!staged || staged->operands.size() > kMostBuffers) continue;
      (staged->packs ? operands.panels : operands.blocks) += static_cast<unsigned>(staged->operands.size());
      found.push_back(std::move(*staged));
    }
    panels_ = operands.panels;
    if (panels_ > kMostPanels) return {};
    // Before changes invalidate the analyses.
    for (StagedLoop& staged : found) expand(staged);
    for (const StagedLoop& staged : found) cut_into_blocks(staged);
    return operands;
  }

 private:
  std::optional<StagedLoop> examine(llvm::Loop& loop);
  bool can_be_read_ahead(StagedLoop& staged) const;
  bool comes_last(const StagedLoop& staged) const;
  bool is_uniform(const llvm::SCEV* expression) const;
  bool can_be_packed(const llvm::Loop& loop) const;
  std::optional<Along> direction_of(const llvm::Instruction& access,
                                    const llvm::SCEVAddRecExpr& address) const;
  void add_operands(StagedLoop& staged);
  std::uint64_t most_in_block(const StagedLoop& staged) const;
  bool is_one_block(const StagedLoop& staged) const;
  llvm::Instruction* place_of_fill(const StagedLoop& staged, const Operand& operand);
  bool stays_in(const llvm::Loop& loop, const StagedLoop& staged, const Operand& operand);
  void expand(StagedLoop& staged);
  void cut_into_blocks(const StagedLoop& staged);
  Value* turns_in_block(llvm::IRBuilder<>& b, const StagedLoop& staged, Value* total);
  Value* is_apart(llvm::IRBuilder<>& b, const Operand& read, const Operand& written, Value* total);
  Value* buffer(std::size_t number);
  Value* own_buffer();
  Value* next_panel();
  void pack(const BlockOfRow& part, llvm::IRBuilder<>& before);
  void replace_load(llvm::Instruction& load, Value* buffer, Value* turn);
  void stage(const BlockOfRow& part, llvm::IRBuilder<>& before, llvm::IRBuilder<>& behind);
  llvm::Function* declare(const std::string& name, llvm::Type* result,
                          llvm::ArrayRef<llvm::Type*> parameters);

  llvm::Function& function_;
  const SpmdOptions& options_;
  const bool turns_are_iterations_;
  Value* const panel_memory_;
  const llvm::DataLayout& layout_;
  LoopAnalyses analyses_;
  llvm::SCEVExpander expander_;
  std::optional<RowDependence> dependence_;
  std::vector<llvm::CallInst*> buffers_;  // shared by consecutive loops
  unsigned panels_ = 0;
  unsigned panels_used_ = 0;
};

std::optional<StagedLoop> Staging::examine(llvm::Loop& loop) {
  BasicBlock* const exiting = loop.getExitingBlock();
  if (!loop.isInnermost() || exiting == nullptr || loop.getExitBlock() == nullptr) return {};
  const unsigned most_turns = analyses_.evolution.getSmallConstantMaxTripCount(&loop);
  if (most_turns != 0 && most_turns < kFewTurns) return {};
  StagedLoop staged{.loop = &loop,
                    .exiting = exiting,
                    .exit = loop.getExitBlock(),
                    .back_edges = analyses_.evolution.getBackedgeTakenCount(&loop),
                    .known_turns = analyses_.evolution.getSmallConstantTripCount(&loop)};
  if (!can_be_read_ahead(staged)) return {};
  if (llvm::isa<llvm::SCEVCouldNotCompute>(staged.back_edges) || !is_uniform(staged.back_edges)) return {};
  const llvm::Instruction* const before = loop.getLoopPreheader()->getTerminator();
  if (analyses_.evolution.getTypeSizeInBits(staged.back_edges->getType()) > 64 ||
      !expander_.isSafeToExpandAt(staged.back_edges, before)) {
    return {};
  }
  staged.packs = can_be_packed(loop);
  add_operands(staged);
  if (staged.operands.empty() || (staged.store != nullptr && !comes_last(staged))) return {};
  return staged;
}

// Whether every turn reaches the exit, all lanes leave together, and at most one instruction writes.
bool Staging::can_be_read_ahead(StagedLoop& staged) const {
  const BasicBlock* const latch = staged.loop->getLoopLatch();
  if (staged.exiting != latch && (latch->getSinglePredecessor() != staged.exiting || latch->size() != 1))
    return false;
  if (analyses_.divergence.diverges(analyses_.regions.level_of(staged.loop->getHeader()))) return false;
  for (BasicBlock* block : staged.loop->blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (instruction.isAtomic() || instruction.isVolatile()) return false;
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store == nullptr && instruction.mayHaveSideEffects()) return false;
      if (store == nullptr) continue;
      // Rows of a tile each write their own elements.
      if (staged.store != nullptr || dependence_) return false;
      staged.store = store;
    }
  }
  return true;
}

// Whether the store follows all loads. It must be an operand, and the loads must be operands as well, or of memory
// without writers, unless no turn reads elements that another one writes.
bool Staging::comes_last(const StagedLoop& staged) const {
  const auto is_operand = [&](const llvm::Instruction& access) {
    return llvm::any_of(staged.operands, [&](const Operand& operand) { return operand.access == &access; });
  };
  if (!turns_are_iterations_ && !is_operand(*staged.store)) return false;
  return llvm::all_of(staged.loop->blocks(), [&](const BasicBlock* block) {
    return llvm::all_of(*block, [&](const llvm::Instruction& instruction) {
      if (&instruction == staged.store || !instruction.mayReadFromMemory()) return true;
      if (instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load)) return true;
      return (turns_are_iterations_ || is_operand(instruction)) &&
             analyses_.dominators.dominates(&instruction, staged.store);
    });
  });
}

// Whether it is uniform.
bool Staging::is_uniform(const llvm::SCEV* expression) const {
  return !llvm::SCEVExprContains(expression, [&](const llvm::SCEV* part) {
    if (const auto* moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(part)) {
      return analyses_.divergence.diverges(analyses_.regions.level_of(moving->getLoop()->getHeader()));
    }
    const auto* value = llvm::dyn_cast<llvm::SCEVUnknown>(part);
    return value != nullptr && !analyses_.divergence.shape(value->getValue()).is_uniform();
  });
}

// Whether other rows may share this row's loads: no iteration writes before it reaches the loop.
bool Staging::can_be_packed(const llvm::Loop& loop) const {
  if (panel_memory_ == nullptr || !dependence_) return false;
  return llvm::none_of(llvm::instructions(function_), [&](const llvm::Instruction& instruction) {
    return llvm::isa<llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction) &&
           llvm::isPotentiallyReachable(instruction.getParent(), loop.getHeader(), nullptr,
                                        &analyses_.dominators, &analyses_.loops);
  });
}

// Finds the operands among the accesses of every turn.
void Staging::add_operands(StagedLoop& staged) {
  const llvm::Instruction* const before = staged.loop->getLoopPreheader()->getTerminator();
  for (BasicBlock* block : staged.loop->blocks()) {
    if (!analyses_.dominators.dominates(block, staged.exiting)) continue;
    for (llvm::Instruction& instruction : *block) {
      Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
      if (pointer == nullptr || (dependence_ && dependence_->differs(instruction))) continue;
      const auto* address = llvm::dyn_cast<llvm::SCEVAddRecExpr>(analyses_.evolution.getSCEV(pointer));
      if (address == nullptr || address->getLoop() != staged.loop || !address->isAffine()) continue;
      const std::optional<Along> along = direction_of(instruction, *address);
      if (!along || (*along == Along::kColumns && !staged.packs)) continue;
      if (!expander_.isSafeToExpandAt(address->getStart(), before) ||
          !expander_.isSafeToExpandAt(address->getOperand(1), before)) {
        continue;
      }
      staged.operands.push_back({.access = &instruction, .address = address, .along = *along});
    }
  }
}

// Whether the accessed elements are contiguous from turn to turn, and far apart from lane to lane, or vice versa.
// Columns that fill whole rows in memory need no packing.
std::optional<Along> Staging::direction_of(const llvm::Instruction& access,
                                           const llvm::SCEVAddRecExpr& address) const {
  const llvm::Type* const type = type_of(access);
  if (!type->isIntegerTy() && !type->isFloatingPointTy()) return {};
  const Value* const pointer = llvm::getLoadStorePointerOperand(&access);
  const unsigned bits = type->getScalarSizeInBits();
  if ((bits != 32 && bits != 64) || private_base(pointer) != nullptr) return {};
  const std::int64_t bytes = bits / 8;
  const Shape shape = analyses_.divergence.shape(pointer);
  const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(address.getOperand(1));
  if (shape == Shape::affine(bytes)) {
    const std::int64_t row = bytes * options_.width;
    const bool is_far = step == nullptr ? is_uniform(address.getOperand(1)) : step->getAPInt().abs().ugt(row);
    return is_far && llvm::isa<llvm::LoadInst>(access) ? std::optional(Along::kColumns) : std::nullopt;
  }
  if (shape.is_affine() && std::abs(shape.stride()) < kLine) return {};
  return step != nullptr && step->getAPInt() == bytes ? std::optional(Along::kRows) : std::nullopt;
}

void Staging::expand(StagedLoop& staged) {
  llvm::Instruction* const end = staged.loop->getLoopPreheader()->getTerminator();
  staged.last = expander_.expandCodeFor(staged.back_edges, staged.back_edges->getType(), end);
  for (Operand& operand : staged.operands) {
    const llvm::SCEV* const start = operand.address->getStart();
    operand.filled_before = place_of_fill(staged, operand);
    operand.start = expander_.expandCodeFor(start, start->getType(),
                                            operand.filled_before == nullptr ? end : operand.filled_before);
    const llvm::SCEV* const step = operand.address->getOperand(1);
    operand.step = expander_.expandCodeFor(step, step->getType(), end);
  }
}

std::uint64_t Staging::most_in_block(const StagedLoop& staged) const {
  std::uint64_t widest = 0;
  for (const Operand& operand : staged.operands) widest = std::max(widest, bytes_of(*operand.access));
  return std::min(kBufferBytes / options_.width, kStagedRowBytes) / widest;
}

// Whether one block is known to hold all turns.
bool Staging::is_one_block(const StagedLoop& staged) const {
  const bool is_read_only = staged.store == nullptr || turns_are_iterations_;
  return !staged.packs && is_read_only && staged.known_turns != 0 &&
         staged.known_turns <= most_in_block(staged);
}

// The end of the preheader of the outermost loop in whose turns the operand's only block is the same; null if there is
// none. Such loops compare a point with each of several others.
llvm::Instruction* Staging::place_of_fill(const StagedLoop& staged, const Operand& operand) {
  if (!is_one_block(staged) || !llvm::isa<llvm::LoadInst>(operand.access)) return nullptr;
  llvm::Instruction* place = nullptr;
  for (const llvm::Loop* loop = staged.loop->getParentLoop();
       loop != nullptr && stays_in(*loop, staged, operand); loop = loop->getParentLoop()) {
    place = loop->getLoopPreheader()->getTerminator();
  }
  return place;
}

// Whether each execution of the loop reads the operand, in its first turn, and writes no memory.
bool Staging::stays_in(const llvm::Loop& loop, const StagedLoop& staged, const Operand& operand) {
  if (loop.getLoopPreheader() == nullptr) return false;
  llvm::Instruction* const end = loop.getLoopPreheader()->getTerminator();
  for (const llvm::SCEV* part : {operand.address->getStart(), operand.address->getOperand(1)}) {
    if (!analyses_.evolution.isLoopInvariant(part, &loop) || !expander_.isSafeToExpandAt(part, end))
      return false;
  }
  llvm::SmallVector<BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  const auto is_read_before = [&](const BasicBlock* block) {
    return analyses_.dominators.dominates(staged.loop->getHeader(), block);
  };
  if (!llvm::all_of(exiting, is_read_before)) return false;
  return llvm::none_of(loop.blocks(), [](const BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) {
      // LLVM counts atomic loads, such as those of the stop flag, as writes.
      return instruction.mayWriteToMemory() && !llvm::isa<llvm::LoadInst>(instruction);
    });
  });
}

// Puts a loop over blocks of turns around the loop.
void Staging::cut_into_blocks(const StagedLoop& staged) {
  BasicBlock* const before = staged.loop->getLoopPreheader();
  BasicBlock* const header = staged.loop->getHeader();
  BasicBlock* const latch = staged.loop->getLoopLatch();
  llvm::IRBuilder<> b(before->getTerminator());
  llvm::Type* const number = b.getInt64Ty();
  const bool is_one = is_one_block(staged);
  Value* const total = is_one ? b.getInt64(staged.known_turns)
                              : b.CreateAdd(b.CreateZExtOrTrunc(staged.last, number), b.getInt64(1));
  Value* const most = turns_in_block(b, staged, total);

  BasicBlock* const block = BasicBlock::Create(b.getContext(), "block", &function_, header);
  BasicBlock* const over = BasicBlock::Create(b.getContext(), "block.over", &function_, staged.exit);
  before->getTerminator()->replaceSuccessorWith(header, block);
  b.SetInsertPoint(block);
  llvm::PHINode* const done = is_one ? nullptr : b.CreatePHI(number, 2);
  for (llvm::PHINode& phi : header->phis()) {
    if (is_one) {
      phi.replaceIncomingBlockWith(before, block);
      continue;
    }
    llvm::PHINode* const carried = b.CreatePHI(phi.getType(), 2);
    carried->addIncoming(phi.getIncomingValueForBlock(before), before);
    carried->addIncoming(phi.getIncomingValueForBlock(latch), over);
    phi.setIncomingValueForBlock(before, carried);
    phi.replaceIncomingBlockWith(before, block);
  }
  Value* const turns =
      is_one ? total : b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateSub(total, done), most);
  llvm::PHINode* const turn = llvm::PHINode::Create(number, 2, "turn", header->begin());
  llvm::IRBuilder<> behind(over);
  for (std::size_t n = 0; n < staged.operands.size(); ++n) {
    const Operand& operand = staged.operands[n];
    Value* const row =
        is_one ? operand.start : b.CreateGEP(b.getInt8Ty(), operand.start, b.CreateMul(done, operand.step));
    BlockOfRow part{.operand = operand, .buffer = nullptr, .row = row, .turns = turns, .turn = turn};
    if (staged.packs) {
      part.buffer = next_panel();
      pack(part, b);
    } else {
      const bool is_early = operand.filled_before != nullptr;
      part.buffer = is_early ? own_buffer() : buffer(n);
      llvm::IRBuilder<> early(is_early ? operand.filled_before : before->getTerminator());
      stage(part, is_early ? early : b, behind);
    }
  }
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
  for (llvm::PHINode& phi : staged.exit->phis()) phi.replaceIncomingBlockWith(staged.exiting, over);
  if (is_one) {
    b.CreateBr(staged.exit);
    return;
  }
  Value* const all = b.CreateNUWAdd(done, turns);
  done->addIncoming(b.getInt64(0), before);
  done->addIncoming(all, over);
  b.CreateCondBr(b.CreateICmpULT(all, total), block, staged.exit);
}

// As many as the buffers hold, all for a panel, or one if a written row would have to be read again in the middle of a
// block.
Value* Staging::turns_in_block(llvm::IRBuilder<>& b, const StagedLoop& staged, Value* total) {
  Value* most = b.getInt64(most_in_block(staged));
  if (staged.packs) {
    std::uint64_t widest = 0;
    for (const Operand& operand : staged.operands) widest = std::max(widest, bytes_of(*operand.access));
    Value* const held = b.getInt64(bytes_of_panel(panels_) / (options_.width * widest));
    return b.CreateSelect(b.CreateICmpULE(total, held), held, most);
  }
  if (staged.store == nullptr || turns_are_iterations_) return most;
  const auto written =
      llvm::find_if(staged.operands, [&](const Operand& operand) { return operand.access == staged.store; });
  for (const Operand& read : staged.operands) {
    if (&read == &*written || read.address == written->address) continue;
    Value* const everywhere = b.CreateCall(declare(kInAllLanes, b.getInt1Ty(), {b.getInt1Ty()}),
                                           {is_apart(b, read, *written, total)});
    most = b.CreateSelect(everywhere, most, b.getInt64(1));
  }
  return most;
}

// Whether the lane reads and writes the same element in each turn, or rows that do not overlap.
Value* Staging::is_apart(llvm::IRBuilder<>& b, const Operand& read, const Operand& written, Value* total) {
  Value* const from = b.CreatePtrToInt(read.start, b.getInt64Ty());
  Value* const to = b.CreatePtrToInt(written.start, b.getInt64Ty());
  const auto length = [&](const Operand& operand) {
    return b.CreateMul(total, b.getInt64(bytes_of(*operand.access)));
  };
  Value* const behind = b.CreateICmpUGE(b.CreateSub(from, to), length(written));
  Value* const in_front = b.CreateICmpUGE(b.CreateSub(to, from), length(read));
  Value* const apart = b.CreateAnd(behind, in_front);
  if (bytes_of(*read.access) != bytes_of(*written.access)) return apart;
  return b.CreateOr(apart, b.CreateICmpEQ(from, to));
}

Value* Staging::buffer(std::size_t number) {
  if (number < buffers_.size()) return buffers_[number];
  llvm::IRBuilder<> entry(function_.getEntryBlock().getTerminator());
  llvm::Type* const word = entry.getInt64Ty();
  llvm::Function* const made = declare(kStagingBuffer, entry.getPtrTy(), {word, word});
  return buffers_.emplace_back(
      entry.CreateCall(made, {entry.getInt64(number), entry.getInt64(kBufferBytes)}));
}

// For a block that outlives its inner loop.
Value* Staging::own_buffer() {
  for (std::size_t shared = buffers_.size(); shared < kMostBuffers; ++shared) buffer(shared);
  return buffer(buffers_.size());
}

Value* Staging::next_panel() {
  llvm::IRBuilder<> entry(function_.getEntryBlock().getTerminator());
  const std::uint64_t offset = offset_of_panel(panels_used_++, panels_);
  return entry.CreateInBoundsGEP(entry.getInt8Ty(), panel_memory_, entry.getInt64(offset));
}

void Staging::pack(const BlockOfRow& part, llvm::IRBuilder<>& before) {
  const auto& [operand, panel, start, turns, turn] = part;
  llvm::Type* const pointer = before.getPtrTy();
  llvm::Type* const number = before.getInt64Ty();
  llvm::Type* const type = type_of(*operand.access);
  const std::string suffix = ".i" + std::to_string(type->getScalarSizeInBits());
  if (operand.along == Along::kColumns) {
    before.CreateCall(declare(kPackColumns + suffix, before.getVoidTy(), {pointer, pointer, number, number}),
                      {panel, start, operand.step, turns});
  } else {
    before.CreateCall(declare(kPackRows + suffix, before.getVoidTy(), {pointer, pointer, number}),
                      {panel, start, turns});
  }
  Value* const elements =
      before.CreateInBoundsGEP(before.getInt8Ty(), panel, before.getInt64(kPanelHeaderBytes));
  replace_load(*operand.access, elements, turn);
}

void Staging::replace_load(llvm::Instruction& load, Value* buffer, Value* turn) {
  llvm::IRBuilder<> at(&load);
  llvm::Type* const type = load.getType();
  const std::string suffix =
      (type->isFloatingPointTy() ? ".f" : ".i") + std::to_string(type->getScalarSizeInBits());
  llvm::Function* const staged = declare(kStagedLoad + suffix, type, {at.getPtrTy(), at.getInt64Ty()});
  staged->setOnlyReadsMemory();
  load.replaceAllUsesWith(at.CreateCall(staged, {buffer, turn}));
  load.eraseFromParent();
}

// `before` precedes each block, and `behind` follows it.
void Staging::stage(const BlockOfRow& part, llvm::IRBuilder<>& before, llvm::IRBuilder<>& behind) {
  const auto& [operand, buffer, row, turns, turn] = part;
  llvm::Type* const pointer = before.getPtrTy();
  llvm::Type* const number = before.getInt64Ty();
  llvm::Type* const none = before.getVoidTy();
  llvm::Type* const type = type_of(*operand.access);
  const std::string bits = std::to_string(type->getScalarSizeInBits());
  auto* const store = llvm::dyn_cast<llvm::StoreInst>(operand.access);
  if (store == nullptr) {
    before.CreateCall(declare(kFillFromRows + (".i" + bits), none, {pointer, pointer, number}),
                      {buffer, row, turns});
    replace_load(*operand.access, buffer, turn);
    return;
  }
  const std::string suffix = (type->isFloatingPointTy() ? ".f" : ".i") + bits;
  llvm::IRBuilder<>(store).CreateCall(declare(kStagedStore + suffix, none, {pointer, number, type}),
                                      {buffer, turn, store->getValueOperand()});
  behind.CreateCall(declare(kDrainToRows + (".i" + bits), none, {pointer, pointer, number}),
                    {buffer, row, turns});
  store->eraseFromParent();
}

llvm::Function* Staging::declare(const std::string& name, llvm::Type* result,
                                 llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::FunctionCallee callee = function_.getParent()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, parameters, /*isVarArg=*/false));
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setWillReturn();
  return function;
}

}  // namespace

StagedOperands stage_operands(llvm::Function& scalar, const StagingOptions& options) {
  const StagedOperands staged = Staging(scalar, options).run();
  if (staged.blocks + staged.panels != 0) bring_into_form(scalar);
  return staged;
}

bool calls(const llvm::Instruction& instruction, const char* name) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && callee->getName().starts_with(name);
}

}  // namespace dhpvm::codegen::spmd
