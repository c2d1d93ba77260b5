// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/prepare.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/device/atomics.h"
#include "codegen/device/device_module.h"
#include "codegen/device/opencl/calls.h"

namespace dhpvm::codegen::opencl {
namespace {

using llvm::Value;

// Whether cl_khr_int64_base_atomics or OpenCL 1.2 provides it.
bool is_atomic_in_opencl(const llvm::AtomicRMWInst& update) {
  using Rmw = llvm::AtomicRMWInst;
  const Rmw::BinOp op = update.getOperation();
  if (!update.getType()->isIntegerTy()) return false;
  return update.getType()->isIntegerTy(32) || op == Rmw::Add || op == Rmw::Sub || op == Rmw::Xchg;
}

void expand_overflow(llvm::WithOverflowInst& arithmetic) {
  llvm::IRBuilder<> b(&arithmetic);
  Value* const left = arithmetic.getLHS();
  Value* const right = arithmetic.getRHS();
  Value* const result = b.CreateBinOp(arithmetic.getBinaryOp(), left, right);
  Value* overflows = nullptr;
  Value* const zero = llvm::ConstantInt::get(left->getType(), 0);
  switch (arithmetic.getIntrinsicID()) {
    case llvm::Intrinsic::uadd_with_overflow: overflows = b.CreateICmpULT(result, left); break;
    case llvm::Intrinsic::usub_with_overflow: overflows = b.CreateICmpULT(left, right); break;
    case llvm::Intrinsic::sadd_with_overflow:
      // Both have the sign that the sum lacks.
      overflows = b.CreateICmpSLT(b.CreateAnd(b.CreateXor(left, result), b.CreateXor(right, result)), zero);
      break;
    case llvm::Intrinsic::ssub_with_overflow:
      overflows = b.CreateICmpSLT(b.CreateAnd(b.CreateXor(left, right), b.CreateXor(left, result)), zero);
      break;
    default: return;  // products: the printer refuses them
  }
  for (llvm::User* const user : llvm::make_early_inc_range(arithmetic.users())) {
    auto* const extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (extract == nullptr) continue;
    extract->replaceAllUsesWith(extract->getIndices().front() == 0 ? result : overflows);
    extract->eraseFromParent();
  }
  if (arithmetic.use_empty()) arithmetic.eraseFromParent();
}

// Parts of the results of several exchanges, extracted after their paths have joined: the optimiser extracts once
// there, from a phi of whole results. C has no type for such a pair, so each part gets its own phi.
class Parts {
 public:
  void split(llvm::ExtractValueInst& part) {
    auto* const met = llvm::dyn_cast<llvm::PHINode>(part.getAggregateOperand());
    if (met == nullptr || part.getNumIndices() != 1) return;
    part.replaceAllUsesWith(part_of(met, part.getIndices().front(), *part.getType()));
    part.eraseFromParent();
  }

 private:
  Value* part_of(Value* whole, unsigned index, llvm::Type& type) {
    if (const auto* const constant = llvm::dyn_cast<llvm::Constant>(whole))
      return constant->getAggregateElement(index);
    Value*& known = parts_[{whole, index}];
    if (known != nullptr) return known;
    auto* const met = llvm::dyn_cast<llvm::PHINode>(whole);
    if (met == nullptr) {
      auto* const made = llvm::cast<llvm::Instruction>(whole);
      llvm::IRBuilder<> b(made->getParent(), *made->getInsertionPointAfterDef());
      return known = b.CreateExtractValue(made, index);
    }
    llvm::PHINode* const result =
        llvm::PHINode::Create(&type, met->getNumIncomingValues(), "", met->getIterator());
    known = result;  // first: the phi may be its own operand
    for (unsigned n = 0; n < met->getNumIncomingValues(); ++n)
      result->addIncoming(part_of(met->getIncomingValue(n), index, type), met->getIncomingBlock(n));
    return result;
  }

  llvm::DenseMap<std::pair<Value*, unsigned>, Value*> parts_;
};

// One call computes sine and cosine in little more time than one of them. The common call is printed at the sine, which
// moves up to a cosine of the same argument in its block.
void move_sines(llvm::BasicBlock& block) {
  llvm::DenseMap<Value*, llvm::CallInst*> cosines;  // by their argument, the first of each
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
    auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || call->arg_size() != 1) continue;
    if (is_cosine(*call)) cosines.try_emplace(call->getArgOperand(0), call);
    if (!is_sine(*call)) continue;
    if (llvm::CallInst* const cosine = cosines.lookup(call->getArgOperand(0))) call->moveBefore(cosine);
  }
}

bool has_irreducible_loops(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  return llvm::containsIrreducibleCFG<llvm::BasicBlock*>(order, loops);
}

}  // namespace

Status prepare_to_print(llvm::Module& module) {
  bool irreducible = false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    // Collected first: expanding an update adds blocks.
    llvm::SmallVector<llvm::AtomicRMWInst*> updates;
    llvm::SmallVector<llvm::WithOverflowInst*> arithmetic;
    llvm::SmallVector<llvm::ExtractValueInst*> extracts;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* const update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) updates.push_back(update);
      if (auto* const with = llvm::dyn_cast<llvm::WithOverflowInst>(&instruction)) arithmetic.push_back(with);
      if (auto* const part = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) extracts.push_back(part);
    }
    Parts parts;
    for (llvm::ExtractValueInst* const part : extracts) parts.split(*part);
    for (llvm::AtomicRMWInst* const update : updates) {
      if (!is_atomic_in_opencl(*update)) expand_update(*update);
    }
    for (llvm::WithOverflowInst* const with : arithmetic) expand_overflow(*with);
    for (llvm::BasicBlock& block : function) move_sines(block);
    irreducible = irreducible || has_irreducible_loops(function);
  }
  // Dead instructions would be printed, and cause compiler warnings.
  DHPVM_TRY(run_passes(module, nullptr, "function(lower-switch,dce)"));
  if (irreducible) DHPVM_TRY(run_passes(module, nullptr, "function(fix-irreducible,instsimplify)"));
  // Preheaders: code before a loop is then not printed at the end of another loop.
  return run_passes(module, nullptr, "function(loop-simplify)");
}

}  // namespace dhpvm::codegen::opencl
