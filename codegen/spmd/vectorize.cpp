// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/vectorize.h"

#include <fmt/format.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"
#include "codegen/spmd/edges.h"
#include "codegen/spmd/flat_indices.h"
#include "codegen/spmd/full_turns.h"
#include "codegen/spmd/lineariser.h"
#include "codegen/spmd/transfer.h"

namespace dhpvm::codegen::spmd {
namespace {

Status check_options(const llvm::Function& scalar, const SpmdOptions& options) {
  const unsigned width = options.width;
  if (width < 2 || width > 64 || (width & (width - 1)) != 0) {
    return error(ErrorCode::kInvalidArgument, "{} lanes were asked for; use a power of two from 2 to 64",
                 width);
  }
  if (options.args.size() != scalar.arg_size()) {
    return error(ErrorCode::kInvalidArgument, "{} shapes were given for the {} arguments of {}",
                 options.args.size(), scalar.arg_size(), std::string_view(scalar.getName()));
  }
  for (const llvm::Argument& argument : scalar.args()) {
    const ArgShape shape = options.args[argument.getArgNo()];
    const llvm::Type* type = argument.getType();
    if (shape == ArgShape::kLaneIndex &&
        !(type->isIntegerTy() && type->getIntegerBitWidth() <= 64 && type->getIntegerBitWidth() >= 8)) {
      return error(ErrorCode::kInvalidArgument,
                   "argument {} is no integer and cannot be the index of the lane", argument.getArgNo());
    }
    if (shape == ArgShape::kVarying && widen(argument.getType(), width) == nullptr) {
      return error(ErrorCode::kUnsupported,
                   "cannot be vectorised: argument {} is of a type that has no vector form",
                   argument.getArgNo());
    }
  }
  return {};
}

// Checks the form that prepare makes.
Status check_form(llvm::Function& scalar, const llvm::LoopInfo& loops,
                  const llvm::DominatorTree& dominators) {
  const auto unprepared = [](std::string_view what) {
    return error(ErrorCode::kUnsupported, "cannot be vectorised: {}; the function has not been prepared",
                 what);
  };
  unsigned returns = 0;
  for (llvm::BasicBlock& block : scalar) {
    const llvm::Instruction* terminator = block.getTerminator();
    if (llvm::isa<llvm::ReturnInst>(terminator)) ++returns;
    if (llvm::isa<llvm::UnreachableInst>(terminator)) {
      return error(ErrorCode::kUnsupported, "cannot be vectorised: a place that is declared unreachable");
    }
    if (!llvm::isa<llvm::ReturnInst, llvm::BranchInst>(terminator)) {
      return unsupported(*terminator, "this way to leave a block");
    }
    if (!dominators.isReachableFromEntry(&block)) return unprepared("there are unreachable blocks");
    if (block.hasNPredecessorsOrMore(2)) {
      for (const llvm::BasicBlock* from : llvm::predecessors(&block)) {
        if (from->getSingleSuccessor() == nullptr) return unprepared("there are critical edges");
      }
    }
    for (const llvm::PHINode& phi : block.phis()) {
      if (phi.getType()->isPointerTy() && private_base(&phi) != nullptr) continue;
      for (const llvm::Value* value : phi.incoming_values()) {
        if (value->getType()->isPointerTy() && private_base(value) != nullptr) {
          return unsupported(phi, "the address of a local array is used as a value");
        }
      }
    }
  }
  if (returns != 1) return unprepared(fmt::format("there are {} returns", returns));
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isLoopSimplifyForm() || !loop->isLCSSAForm(dominators))
      return unprepared("there are loops of no simple form");
  }
  return {};
}

Status check_phis(llvm::Function& scalar, const Divergence& divergence, unsigned width) {
  for (llvm::BasicBlock& block : scalar) {
    for (const llvm::PHINode& phi : block.phis()) {
      if (!divergence.shape(&phi).is_affine() && widen(phi.getType(), width) == nullptr) {
        return unsupported(phi, "a result of this type has no vector form");
      }
    }
  }
  return {};
}

Result<llvm::Function*> declare(llvm::Function& scalar, const SpmdOptions& options) {
  llvm::SmallVector<llvm::Type*, 16> types;
  llvm::SmallVector<llvm::AttributeSet, 16> attributes;
  for (const llvm::Argument& argument : scalar.args()) {
    const ArgShape shape = options.args[argument.getArgNo()];
    llvm::Type* type = argument.getType();
    types.push_back(shape == ArgShape::kVarying ? widen(type, options.width) : type);
    attributes.push_back(shape == ArgShape::kUniform
                             ? scalar.getAttributes().getParamAttrs(argument.getArgNo())
                             : llvm::AttributeSet());
  }
  if (options.tail) types.push_back(llvm::Type::getInt64Ty(scalar.getContext()));
  llvm::Type* result = scalar.getReturnType();
  if (!result->isVoidTy()) result = widen(result, options.width);
  if (result == nullptr) {
    return error(ErrorCode::kUnsupported, "cannot be vectorised: what {} returns has no vector form",
                 std::string_view(scalar.getName()));
  }
  llvm::Function* made = llvm::Function::Create(
      llvm::FunctionType::get(result, types, false), llvm::GlobalValue::InternalLinkage,
      scalar.getAddressSpace(),
      scalar.getName() + (options.tail ? ".tail" : ".lanes") + llvm::Twine(options.width),
      scalar.getParent());
  made->setAttributes(llvm::AttributeList::get(scalar.getContext(), scalar.getAttributes().getFnAttrs(),
                                               llvm::AttributeSet(), attributes));
  return made;
}

Result<llvm::Function*> vectorize_as_it_is(llvm::Function& scalar, const SpmdOptions& options) {
  llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  DHPVM_TRY(check_form(scalar, loops, dominators));
  const Regions regions(scalar, loops);
  const Divergence divergence(scalar, regions, options.args);
  DHPVM_TRY(check_phis(scalar, divergence, options.width));
  DHPVM_ASSIGN(llvm::Function * made, declare(scalar, options));

  Status status = Lineariser(scalar, *made, regions, divergence, options).run();
  if (status.ok()) {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyFunction(*made, &stream)) {
      status = error(ErrorCode::kInternal, "the vector form of {} is not valid: {}",
                     std::string_view(scalar.getName()), problem);
    }
  }
  if (!status.ok()) {
    made->eraseFromParent();
    return std::move(status).error();
  }
  return made;
}

}  // namespace

Result<llvm::Function*> vectorize(llvm::Function& scalar, const SpmdOptions& options) {
  DHPVM_TRY(check_options(scalar, options));
  // The remainder at the end of a row need not be fast, and splitting it would compile it twice as well.
  llvm::Function* split = options.tail ? nullptr : split_flat_indices(scalar, options.args);
  if (split == nullptr && !options.tail) split = split_edges(scalar, options.args);
  if (!options.tail) {
    if (llvm::Function* const again = split_full_turns(split == nullptr ? scalar : *split, options.args)) {
      if (split != nullptr) split->eraseFromParent();
      split = again;
    }
  }
  if (split == nullptr) return vectorize_as_it_is(scalar, options);
  Result<llvm::Function*> made = vectorize_as_it_is(*split, options);
  split->eraseFromParent();
  return made;
}

}  // namespace dhpvm::codegen::spmd
