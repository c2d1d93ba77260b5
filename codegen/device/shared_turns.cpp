// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/shared_turns.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "codegen/device/builtins.h"
#include "codegen/device/descriptors.h"
#include "codegen/device/element_updates.h"
#include "codegen/device/update_windows.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// Log2 of the number of work-items that GPUs run in lockstep: so many share a row, if it has enough turns, so that
// their loads coalesce.
constexpr std::uint64_t kTogether = 5;
// Rows of fewer turns are not shared if there are enough rows for all work-items. Not tuned.
constexpr std::uint64_t kShortRow = 16;

// A loop that counts up by one, and whose only normal exit is its latch.
struct CountedLoop {
  llvm::Loop* loop = nullptr;
  llvm::PHINode* counter = nullptr;
  Value* start = nullptr;
  Value* limit = nullptr;
  llvm::BranchInst* branch = nullptr;  // of the latch
  bool is_signed = true;               // signed comparison with the limit
  BasicBlock* after = nullptr;
};

std::optional<CountedLoop> counted_loop(llvm::Loop* loop) {
  CountedLoop found = {.loop = loop};
  BasicBlock* const latch = loop->getLoopLatch();
  BasicBlock* const before = loop->getLoopPreheader();
  if (latch == nullptr || before == nullptr) return std::nullopt;
  const auto phis = loop->getHeader()->phis();
  if (std::distance(phis.begin(), phis.end()) != 1) return std::nullopt;
  found.counter = &*phis.begin();
  found.branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!found.counter->getType()->isIntegerTy(64) || found.branch == nullptr || !found.branch->isConditional())
    return std::nullopt;
  found.start = found.counter->getIncomingValueForBlock(before);
  const auto* const next =
      llvm::dyn_cast<llvm::BinaryOperator>(found.counter->getIncomingValueForBlock(latch));
  if (next == nullptr || next->getOpcode() != llvm::Instruction::Add || next->getOperand(0) != found.counter)
    return std::nullopt;
  const auto* const step = llvm::dyn_cast<llvm::ConstantInt>(next->getOperand(1));
  const auto* const test = llvm::dyn_cast<llvm::ICmpInst>(found.branch->getCondition());
  if (step == nullptr || !step->isOne() || test == nullptr) return std::nullopt;
  const bool stays_if_true = found.branch->getSuccessor(0) == loop->getHeader();
  found.after = found.branch->getSuccessor(stays_if_true ? 1 : 0);
  llvm::ICmpInst::Predicate stays = stays_if_true ? test->getPredicate() : test->getInversePredicate();
  const bool is_swapped = test->getOperand(1) == next;
  if (!is_swapped && test->getOperand(0) != next) return std::nullopt;
  if (is_swapped) stays = llvm::ICmpInst::getSwappedPredicate(stays);
  if (stays != llvm::ICmpInst::ICMP_SLT && stays != llvm::ICmpInst::ICMP_ULT) return std::nullopt;
  found.is_signed = stays == llvm::ICmpInst::ICMP_SLT;
  found.limit = test->getOperand(is_swapped ? 0 : 1);
  if (loop->contains(found.after) || !loop->isLoopInvariant(found.limit)) return std::nullopt;
  return found;
}

class TurnSharer {
 public:
  TurnSharer(const KernelBody& body, const bytecode::Module& bytecode, const bytecode::KernelRecord& record);
  // Null if the turns cannot be shared; the function has been deleted then.
  llvm::Function* make();

 private:
  bool plan();
  bool holds_updates(const llvm::Loop& loop) const;
  std::optional<bool> traps_from(const BasicBlock* from, const BasicBlock* to) const;
  bool ends_only_by_traps(const CountedLoop& counted) const;
  bool is_known_before(const Value* value, const BasicBlock& block) const;
  void find_row();
  bool is_row(const CountedLoop& row) const;
  Value* turns_of(llvm::IRBuilder<>& b, const CountedLoop& counted) const;
  void demote_results();
  void note_places(Value* row_turns);
  void share(const CountedLoop& counted, Value* first, Value* step, Value* turns);
  void rewrite();

  llvm::Function* function_ = nullptr;
  const bytecode::Module& bytecode_;
  const bytecode::KernelRecord& record_;
  const bool has_traps_;
  llvm::Argument* arrays_ = nullptr;
  llvm::Argument* item_ = nullptr;
  llvm::Argument* groups_ = nullptr;
  llvm::Argument* place_ = nullptr;
  llvm::ReturnInst* return_ = nullptr;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  std::vector<ElementUpdate> updates_;
  CountedLoop outer_;
  std::optional<CountedLoop> middle_;  // between the two
  std::optional<CountedLoop> row_;     // shared as well: rows of turns of the outer loop
};

TurnSharer::TurnSharer(const KernelBody& body, const bytecode::Module& bytecode,
                       const bytecode::KernelRecord& record)
    : bytecode_(bytecode), record_(record), has_traps_(!body.sites.empty()) {
  llvm::LLVMContext& context = body.function->getContext();
  llvm::Type* const number = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Type*> types(body.function->getFunctionType()->params());
  types.append({number, number, llvm::PointerType::get(context, kPrivateSpace)});
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(body.function->getReturnType(), types, false),
                             llvm::GlobalValue::InternalLinkage, "shared.body", body.function->getParent());
  llvm::ValueToValueMapTy copies;
  const auto count = static_cast<unsigned>(body.function->arg_size());
  for (unsigned n = 0; n < count; ++n) copies[body.function->getArg(n)] = function_->getArg(n);
  llvm::SmallVector<llvm::ReturnInst*> returns;
  llvm::CloneFunctionInto(function_, body.function, copies, llvm::CloneFunctionChangeType::LocalChangesOnly,
                          returns);
  if (returns.size() == 1) return_ = returns.front();
  arrays_ = function_->getArg(kArrays);
  item_ = function_->getArg(count);
  groups_ = function_->getArg(count + 1);
  place_ = function_->getArg(count + 2);
}

bool TurnSharer::holds_updates(const llvm::Loop& loop) const {
  return llvm::all_of(updates_, [&](const ElementUpdate& update) { return loop.contains(update.store); });
}

// Whether the only path from the edge leads to the end with the site of a trap, or without; empty if anything else can
// happen on it.
std::optional<bool> TurnSharer::traps_from(const BasicBlock* from, const BasicBlock* to) const {
  llvm::SmallVector<const BasicBlock*> way = {from, to};
  while (way.back() != return_->getParent()) {
    const BasicBlock* const next = way.back()->getSingleSuccessor();
    if (next == nullptr || llvm::is_contained(way, next)) return std::nullopt;
    way.push_back(next);
  }
  if (!has_traps_) return false;
  const Value* site = llvm::FindInsertedValue(return_->getReturnValue(), {kSite});
  for (std::size_t n = way.size(); n-- > 1;) {
    const auto* const met = llvm::dyn_cast_or_null<llvm::PHINode>(site);
    if (met != nullptr && met->getParent() == way[n]) site = met->getIncomingValueForBlock(way[n - 1]);
  }
  if (site == nullptr) return std::nullopt;
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(site)) return !number->isZero();
  // A phi of several sites.
  if (llvm::isKnownNonZero(site, llvm::SimplifyQuery(function_->getParent()->getDataLayout()))) return true;
  return std::nullopt;
}

// Whether each exit of the loop, except that at its last turn, is that of a trap.
bool TurnSharer::ends_only_by_traps(const CountedLoop& counted) const {
  llvm::SmallVector<llvm::Loop::Edge> edges;
  counted.loop->getExitEdges(edges);
  return llvm::all_of(edges, [&](const llvm::Loop::Edge& edge) {
    if (edge.first == counted.branch->getParent() && edge.second == counted.after) return true;
    return !outer_.loop->contains(edge.second) && traps_from(edge.first, edge.second) == true;
  });
}

bool TurnSharer::is_known_before(const Value* value, const BasicBlock& block) const {
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  return instruction == nullptr || dominators_.dominates(instruction, block.getTerminator());
}

// Whether no value is carried between turns of the row, or to later code in the same turn of the outer loop; and all
// turns of the outer loop have rows of the same length.
bool TurnSharer::is_row(const CountedLoop& row) const {
  const BasicBlock& before = *outer_.loop->getLoopPreheader();
  if (!is_known_before(row.start, before) || !is_known_before(row.limit, before)) return false;
  if (!ends_only_by_traps(row)) return false;
  for (const BasicBlock* const block : row.loop->blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      for (const llvm::Use& use : instruction.uses()) {
        const auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
        const auto* const met = llvm::dyn_cast<llvm::PHINode>(user);
        const BasicBlock* const at = met != nullptr ? met->getIncomingBlock(use) : user->getParent();
        // The edge of an exit starts inside the loop: its target decides.
        if (met != nullptr && row.loop->contains(at) && outer_.loop->contains(met->getParent()) &&
            !row.loop->contains(met->getParent()))
          return false;
        if (outer_.loop->contains(at) && !row.loop->contains(at)) return false;
      }
    }
  }
  const std::optional<std::uint64_t> turns = [&]() -> std::optional<std::uint64_t> {
    const auto* const start = llvm::dyn_cast<llvm::ConstantInt>(row.start);
    const auto* const limit = llvm::dyn_cast<llvm::ConstantInt>(row.limit);
    if (start == nullptr || limit == nullptr) return std::nullopt;
    return limit->getZExtValue() - start->getZExtValue();
  }();
  return !turns || *turns >= kShortRow;
}

// The innermost loop, at most two levels down, that can also be shared.
void TurnSharer::find_row() {
  std::optional<CountedLoop> above;
  llvm::Loop* loop = outer_.loop;
  for (unsigned level = 0; level < 2; ++level) {
    const auto inside = llvm::find_if(*loop, [&](llvm::Loop* one) { return holds_updates(*one); });
    if (inside == loop->end()) return;
    const std::optional<CountedLoop> counted = counted_loop(*inside);
    if (!counted) return;
    if (is_row(*counted)) {
      row_ = counted;
      middle_ = above;
    }
    if (!ends_only_by_traps(*counted)) return;
    above = counted;
    loop = *inside;
  }
}

bool TurnSharer::plan() {
  if (return_ == nullptr) return false;
  hoist_descriptors(*function_, *arrays_);
  std::optional<std::vector<ElementUpdate>> updates = find_updates(*function_, *arrays_);
  if (!updates) return false;
  updates_ = std::move(*updates);
  dominators_.recalculate(*function_);
  loops_.analyze(dominators_);
  const auto top = loops_.getTopLevelLoops();
  const auto found = llvm::find_if(top, [&](llvm::Loop* loop) { return holds_updates(*loop); });
  if (found == top.end()) return false;
  llvm::simplifyLoop(*found, &dominators_, &loops_, nullptr, nullptr, nullptr, /*PreserveLCSSA=*/false);
  const std::optional<CountedLoop> counted = counted_loop(*found);
  if (!counted) return false;
  outer_ = *counted;
  if (traps_from(outer_.branch->getParent(), outer_.after) != false || !ends_only_by_traps(outer_))
    return false;
  find_row();
  return true;
}

Value* TurnSharer::turns_of(llvm::IRBuilder<>& b, const CountedLoop& counted) const {
  // The first turn is not tested.
  Value* const is_below = counted.is_signed ? b.CreateICmpSLT(counted.start, counted.limit)
                                            : b.CreateICmpULT(counted.start, counted.limit);
  return b.CreateSelect(is_below, b.CreateSub(counted.limit, counted.start), b.getInt64(1));
}

// Only the path of a trap uses values of the turns. They pass through memory until no other edges lead to the ends of
// the loops.
void TurnSharer::demote_results() {
  llvm::SmallVector<llvm::Instruction*> results;
  for (BasicBlock* const block : outer_.loop->blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (llvm::any_of(instruction.uses(), [&](const llvm::Use& use) {
            const auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
            return !outer_.loop->contains(user->getParent());
          }))
        results.push_back(&instruction);
    }
  }
  for (llvm::Instruction* const result : results) llvm::DemoteRegToStack(*result);
}

// Stores the numbers at `place`: the turn of the outer loop, and the position in that turn.
void TurnSharer::note_places(Value* row_turns) {
  llvm::IRBuilder<> b(function_->getContext());
  const auto note = [&](unsigned which, Value* value) {
    b.CreateStore(value, b.CreateInBoundsGEP(b.getInt64Ty(), place_, b.getInt64(which)));
  };
  const auto go_to = [&](BasicBlock* block) { b.SetInsertPoint(block, block->getFirstInsertionPt()); };
  const auto turn_of = [&](const CountedLoop& counted) {
    return b.CreateSub(counted.counter, counted.start);
  };
  Value* const behind = b.getInt64(std::numeric_limits<std::int64_t>::max());
  go_to(outer_.loop->getHeader());
  note(0, turn_of(outer_));
  note(1, b.getInt64(0));
  if (!row_) return;
  // Instructions between two rows have a number, too.
  Value* begin = b.getInt64(0);
  if (middle_) {
    go_to(middle_->loop->getHeader());
    begin = b.CreateMul(turn_of(*middle_), b.CreateAdd(row_turns, b.getInt64(2)));
    note(1, begin);
  }
  go_to(row_->loop->getHeader());
  note(1, b.CreateAdd(b.CreateAdd(begin, b.getInt64(1)), turn_of(*row_)));
  go_to(row_->after);
  note(1, middle_ ? b.CreateAdd(begin, b.CreateAdd(row_turns, b.getInt64(1))) : behind);
  if (middle_) {
    go_to(middle_->after);
    note(1, behind);
  }
}

// Runs the turns `first`, `first` + `step` and so on of `turns`.
void TurnSharer::share(const CountedLoop& counted, Value* first, Value* step, Value* turns) {
  BasicBlock* const before = counted.loop->getLoopPreheader();
  BasicBlock* const enter = llvm::SplitBlock(before, before->getTerminator());
  before->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> b(before);
  Value* const begin = b.CreateAdd(counted.start, first);
  Value* const end = b.CreateAdd(counted.start, turns);
  b.CreateCondBr(b.CreateICmpULT(first, turns), enter, counted.after);
  for (llvm::PHINode& met : counted.after->phis()) {
    // Demoted: only constants are needed.
    Value* const value = met.getIncomingValueForBlock(counted.branch->getParent());
    met.addIncoming(llvm::isa<llvm::Constant>(value) ? value : llvm::PoisonValue::get(met.getType()), before);
  }
  counted.counter->setIncomingValueForBlock(enter, begin);
  b.SetInsertPoint(counted.branch);
  counted.counter->setIncomingValueForBlock(counted.branch->getParent(), b.CreateAdd(counted.counter, step));
  Value* const stays = b.CreateICmpUGT(b.CreateSub(end, counted.counter), step);
  const bool stays_if_true = counted.branch->getSuccessor(0) == counted.loop->getHeader();
  counted.branch->setCondition(stays_if_true ? stays : b.CreateNot(stays));
}

void TurnSharer::rewrite() {
  demote_results();
  BasicBlock* const before = outer_.loop->getLoopPreheader();
  UpdateWindows windows(bytecode_, record_, *function_, *arrays_, function_->getArg(kIndices), updates_);
  BasicBlock* const enter = llvm::SplitBlock(before, before->getTerminator());
  before->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> b(before);
  Value* const turns = turns_of(b, outer_);
  Value* const row_turns = row_ ? turns_of(b, *row_) : nullptr;
  Value* const items = b.CreateMul(groups_, call_builtin(b, Builtin::kLocalSize));
  Value* first = item_;
  Value* step = items;
  Value* place_in_row = nullptr;
  Value* items_of_row = nullptr;
  if (row_) {
    // Powers of two; all numbers are at least 1.
    const auto exponent_below = [&](Value* number) {
      Value* const zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, number, b.getTrue());
      return b.CreateSub(b.getInt64(63), zeros);
    };
    const auto exponent_above = [&](Value* number) {
      Value* const zeros =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b.CreateSub(number, b.getInt64(1)), b.getFalse());
      return b.CreateSub(b.getInt64(64), zeros);
    };
    const auto smaller = [&](Value* left, Value* right) {
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, right);
    };
    Value* const is_long = b.CreateICmpUGE(row_turns, b.getInt64(kShortRow));
    Value* const usual = b.CreateSelect(is_long, b.getInt64(kTogether), b.getInt64(0));
    // With few rows, each has more work-items.
    Value* const all = exponent_below(items);
    Value* const needed = b.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, all, exponent_above(turns));
    Value* const wanted = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, usual, needed);
    Value* const exponent = smaller(smaller(wanted, exponent_above(row_turns)), all);
    items_of_row = b.CreateShl(b.getInt64(1), exponent);
    place_in_row = b.CreateAnd(item_, b.CreateSub(items_of_row, b.getInt64(1)));
    step = b.CreateLShr(items, exponent);
    Value* const number = b.CreateLShr(item_, exponent);
    first = b.CreateSelect(b.CreateICmpULT(number, step), number, turns);  // there may be surplus work-items
  }
  windows.open(b, row_ ? b.CreateMul(turns, row_turns) : turns, groups_);
  b.CreateBr(enter);
  if (has_traps_) note_places(row_turns);
  if (row_) share(*row_, place_in_row, items_of_row, row_turns);
  share(outer_, first, step, turns);
  windows.write_updates();
  BasicBlock* const last = return_->getParent();
  BasicBlock* const leave = llvm::SplitBlock(last, last->getFirstNonPHI());
  last->getTerminator()->eraseFromParent();
  b.SetInsertPoint(last);
  windows.close(b);
  b.CreateBr(leave);
}

llvm::Function* TurnSharer::make() {
  if (!plan()) {
    function_->eraseFromParent();
    return nullptr;
  }
  rewrite();
  function_->addFnAttr(llvm::Attribute::AlwaysInline);
  return function_;
}

}  // namespace

llvm::Function* share_turns(const KernelBody& body, const bytecode::Module& bytecode,
                            const bytecode::KernelRecord& record) {
  return TurnSharer(body, bytecode, record).make();
}

}  // namespace dhpvm::codegen
