// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/row_loop.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstdlib>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {
namespace {

// Lanes whose elements are closer share cache lines.
constexpr std::int64_t kCacheLine = 64;

}  // namespace

bool crosses_rows(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  if (!loops.empty()) return false;
  const Regions regions(scalar, loops);
  const Divergence divergence(scalar, regions, args);
  return llvm::any_of(llvm::instructions(scalar), [&](const llvm::Instruction& instruction) {
    const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer == nullptr) return false;
    const Shape shape = divergence.shape(pointer);
    return !shape.is_affine() || std::abs(shape.stride()) >= kCacheLine;
  });
}

llvm::Function* put_into_row_loop(llvm::Function& scalar, unsigned row) {
  llvm::IRBuilder<> b(scalar.getContext());
  llvm::Type* const number = b.getInt64Ty();
  llvm::SmallVector<llvm::Type*, 16> parameters(scalar.getFunctionType()->params());
  parameters.push_back(number);
  auto* const type = llvm::FunctionType::get(scalar.getReturnType(), parameters, /*isVarArg=*/false);
  llvm::Function* const made = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                                      scalar.getName() + ".rows", scalar.getParent());
  // The parameters keep their attributes.
  made->copyAttributesFrom(&scalar);
  llvm::BasicBlock* const entry = llvm::BasicBlock::Create(b.getContext(), "entry", made);
  llvm::BasicBlock* const loop = llvm::BasicBlock::Create(b.getContext(), "row", made);
  llvm::BasicBlock* const done = llvm::BasicBlock::Create(b.getContext(), "done", made);
  b.SetInsertPoint(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* const turn = b.CreatePHI(number, 2);
  llvm::SmallVector<llvm::Value*, 16> arguments;
  for (unsigned n = 0; n < scalar.arg_size(); ++n) arguments.push_back(made->getArg(n));
  arguments[row] = b.CreateNSWAdd(arguments[row], turn);
  llvm::CallInst* const call = b.CreateCall(&scalar, arguments);
  llvm::Value* const next = b.CreateNSWAdd(turn, b.getInt64(1));
  b.CreateCondBr(b.CreateICmpSLT(next, made->getArg(static_cast<unsigned>(scalar.arg_size()))), loop, done);
  turn->addIncoming(b.getInt64(0), entry);
  turn->addIncoming(next, loop);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  llvm::InlineFunctionInfo info;
  if (!llvm::InlineFunction(*call, info).isSuccess()) {
    made->eraseFromParent();
    return nullptr;
  }
  // No-alias scopes are valid for one iteration only, and their declarations look like side effects.
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(*made))) {
    if (llvm::isa<llvm::NoAliasScopeDeclInst>(instruction)) instruction.eraseFromParent();
  }
  return made;
}

}  // namespace dhpvm::codegen::spmd
