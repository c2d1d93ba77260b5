// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/edges.h"

#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/measured_costs.h"
#include "codegen/spmd/second_body.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::ICmpInst;
using llvm::Value;

// More conditions than for the neighbours of an element, two edges in each of two dimensions.
constexpr std::size_t kMostConditions = 64;

// A comparison of an index that increases from lane to lane with a uniform value; or a minimum or maximum of both,
// which equals the index inside the array: it clamps neighbours of an element.
struct Condition {
  llvm::Instruction* decided = nullptr;
  Value* index = nullptr;
  Value* bound = nullptr;
  ICmpInst::Predicate predicate =
      ICmpInst::ICMP_EQ;  // index predicate bound; of a minimum or maximum: where it is inside
  Value* kept = nullptr;  // of a minimum or maximum: the operand that it equals inside
};

bool accesses_memory(const BasicBlock& block) {
  return llvm::any_of(block, [](const llvm::Instruction& instruction) {
    return llvm::getLoadStorePointerOperand(&instruction) != nullptr;
  });
}

// Whether a memory access depends on `compare` through a branch: masks then cost something.
bool decides_about_accesses(const ICmpInst& compare) {
  llvm::SmallVector<const llvm::Instruction*, 8> work{&compare};
  llvm::SmallPtrSet<const llvm::Instruction*, 8> seen;
  while (!work.empty()) {
    const llvm::Instruction* const from = work.pop_back_val();
    if (!seen.insert(from).second) continue;
    for (const llvm::User* user : from->users()) {
      const auto* const next = llvm::cast<llvm::Instruction>(user);
      if (llvm::isa<llvm::BranchInst>(next)) {
        const auto is_side = [&](const BasicBlock* side) {
          return side->getSinglePredecessor() != nullptr && accesses_memory(*side);
        };
        if (llvm::any_of(llvm::successors(next->getParent()), is_side)) return true;
      } else if (next->getType()->isIntegerTy(1) && !llvm::isa<ICmpInst>(next)) {
        work.push_back(next);
      }
    }
  }
  return false;
}

class Conditions {
 public:
  Conditions(llvm::Function& function, const std::vector<ArgShape>& args) : analyses_(function, args) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const compare = llvm::dyn_cast<ICmpInst>(&instruction);
      if (compare == nullptr || !decides_about_accesses(*compare)) continue;
      if (!find(*compare, compare->getOperand(0), compare->getOperand(1), compare->getPredicate()))
        find(*compare, compare->getOperand(1), compare->getOperand(0), compare->getSwappedPredicate());
    }
  }

  llvm::ArrayRef<Condition> all() const { return found_; }

 private:
  bool find(ICmpInst& compare, Value* index, Value* bound, ICmpInst::Predicate predicate) {
    const std::size_t known = found_.size();
    Value* const inside = inside_of(index);
    if (inside == nullptr || !is_bound(bound)) {
      found_.resize(known);
      return false;
    }
    found_.push_back({&compare, inside, bound, predicate});
    return true;
  }

  bool is_bound(Value* value) const {
    return analyses_.divergence.shape(value).is_uniform() && can_be_early(value);
  }

  // The value of a clamped index inside the array; null if it is not one. Collects the minima and maxima on the way.
  Value* inside_of(Value* value) {
    if (!value->getType()->isIntegerTy()) return nullptr;
    if (goes_up(*value->getType(), analyses_.divergence.shape(value)))
      return can_be_early(value) ? value : nullptr;
    auto* const extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(value);
    if (extreme == nullptr) return nullptr;
    for (const unsigned kept : {0U, 1U}) {
      if (!is_bound(extreme->getArgOperand(1 - kept))) continue;
      Value* const inside = inside_of(extreme->getArgOperand(kept));
      if (inside == nullptr) return nullptr;
      const auto is_it = [&](const Condition& condition) { return condition.decided == extreme; };
      if (llvm::none_of(found_, is_it)) {
        found_.push_back({extreme, inside, extreme->getArgOperand(1 - kept), extreme->getPredicate(),
                          extreme->getArgOperand(kept)});
      }
      return inside;
    }
    return nullptr;
  }

  LoopAnalyses analyses_;
  llvm::SmallVector<Condition, 8> found_;
};

class InnerBody {
 public:
  explicit InnerBody(llvm::Function& function) : body_(function, "inside"), b_(body_.builder()) {}

  void split(llvm::ArrayRef<Condition> conditions) {
    Value* all_agree = b_.getTrue();
    // Simplification may replace the values meanwhile.
    llvm::SmallVector<std::pair<llvm::WeakTrackingVH, llvm::WeakTrackingVH>, 8> answers;
    for (const Condition& condition : conditions) {
      const Answer answer = answer_of(condition);
      all_agree = b_.CreateAnd(all_agree, answer.is_shared);
      answers.emplace_back(body_.copy_of(condition.decided), answer.value);
    }
    for (auto& [decided, value] : answers) {
      if (decided != nullptr)
        llvm::replaceAndRecursivelySimplify(llvm::cast<llvm::Instruction>(decided), value);
    }
    for (BasicBlock* block : body_.blocks())
      llvm::ConstantFoldTerminator(block, /*DeleteDeadConditions=*/true);
    body_.choose_if(all_agree);
  }

 private:
  struct Answer {
    Value* value;
    Value* is_shared;  // uniform across the lanes
  };

  Answer answer_of(const Condition& condition) {
    Value* const index = body_.early(condition.index);
    Value* const bound = body_.early(condition.bound);
    Value* const first = body_.ask(kInFirstLane, index);
    Value* const last = body_.ask(kInLastLane, index);
    if (ICmpInst::isEquality(condition.predicate)) {
      // Lanes are between the first and the last in increasing order, even where they wrap.
      Value* const is_beyond = b_.CreateICmpUGT(b_.CreateSub(bound, first), b_.CreateSub(last, first));
      return {b_.getInt1(condition.predicate == ICmpInst::ICMP_NE), is_beyond};
    }
    const ICmpInst::Predicate predicate = condition.kept == nullptr
                                              ? condition.predicate
                                              : ICmpInst::getNonStrictPredicate(condition.predicate);
    Value* const in_first = b_.CreateICmp(predicate, first, bound);
    Value* const in_last = b_.CreateICmp(predicate, last, bound);
    Value* const in_order = b_.CreateICmp(
        ICmpInst::isSigned(condition.predicate) ? ICmpInst::ICMP_SGE : ICmpInst::ICMP_UGE, last, first);
    if (condition.kept != nullptr) {
      // Predicates of minima and maxima are strict, and at the bound both operands are equal.
      return {body_.copy_of(condition.kept), b_.CreateAnd(b_.CreateAnd(in_first, in_last), in_order)};
    }
    return {in_first, b_.CreateAnd(b_.CreateICmpEQ(in_first, in_last), in_order)};
  }

  SecondBody body_;
  llvm::IRBuilder<>& b_;
};

}  // namespace

llvm::Function* split_edges(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  if (scalar.getInstructionCount() > kThresholds.second_body) return nullptr;
  const Conditions found(scalar, args);
  llvm::SmallVector<Condition, 8> conditions(found.all());
  if (conditions.empty() || conditions.size() > kMostConditions) return nullptr;
  llvm::ValueToValueMapTy copies;
  llvm::Function* const made = llvm::CloneFunction(&scalar, copies);
  for (Condition& condition : conditions) {
    const auto copy = [&](Value*& value) {
      Value* const copied = value == nullptr ? nullptr : copies.lookup(value);
      if (copied != nullptr) value = copied;
    };
    condition.decided = llvm::cast<llvm::Instruction>(&*copies[condition.decided]);
    copy(condition.index);
    copy(condition.bound);
    copy(condition.kept);
  }
  InnerBody(*made).split(conditions);
  bring_into_form(*made);
  return made;
}

}  // namespace dhpvm::codegen::spmd
