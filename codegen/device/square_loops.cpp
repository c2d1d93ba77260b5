// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/square_loops.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/device/square_copies.h"
#include "codegen/device/tile_writer.h"
#include "codegen/group_work.h"
#include "codegen/spmd/row_tiles.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// Calls the body for the iteration at an offset from the square's first one.
llvm::Function* place_body(const KernelBody& body, unsigned dimensions) {
  llvm::LLVMContext& context = body.function->getContext();
  llvm::SmallVector<llvm::Type*> types(body.function->getFunctionType()->params());
  types.append(2, llvm::Type::getInt64Ty(context));
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(body.function->getReturnType(), types, false),
                             llvm::GlobalValue::InternalLinkage, "square.body", body.function->getParent());
  function->setDoesNotThrow();
  function->addParamAttrs(kArrays,
                          llvm::AttrBuilder(context, body.function->getAttributes().getParamAttrs(kArrays)));
  llvm::IRBuilder<> b(BasicBlock::Create(context, "entry", function));
  llvm::SmallVector<Value*> arguments;
  const auto count = static_cast<unsigned>(body.function->arg_size());
  for (unsigned n = 0; n < count; ++n) arguments.push_back(function->getArg(n));
  for (unsigned n = 0; n < 2; ++n) {
    Value*& index = arguments[kIndices + dimensions - 2 + n];
    index = b.CreateAdd(index, function->getArg(count + n));
  }
  llvm::CallInst* const call = b.CreateCall(body.function, arguments);
  b.CreateRet(call);
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*call, info);
  return function;
}

// Null if the control flow of iterations differs; `function` has been deleted then.
llvm::Function* do_several(llvm::Function* function, unsigned argument, unsigned copies, unsigned step) {
  llvm::Function* const several = spmd::tile_rows(*function, argument, copies, step);
  function->eraseFromParent();
  return several;
}

}  // namespace

llvm::Function* square_body(const KernelBody& body, unsigned dimensions) {
  if (dimensions < 2) return nullptr;
  llvm::Function* function = place_body(body, dimensions);
  const auto row = static_cast<unsigned>(function->arg_size()) - 2;
  const llvm::SmallVector<llvm::Argument*, 2> places = {function->getArg(row), function->getArg(row + 1)};
  const TilePlan plan = plan_tiles(*function, *function->getArg(kArrays), places, TileShape::kSquare);
  llvm::IRBuilder<> b(function->getContext());
  SquareCopier copier(b, places);
  const auto bytes = [&](const TiledOperand& operand) { return copier.bytes(operand); };
  if (plan.loops.empty() || memory_of(plan, bytes) > kMostTileMemory) {
    function->eraseFromParent();
    return nullptr;
  }
  b.SetInsertPoint(plan.begin);
  write_tiles(*function, plan, copier, b);
  function = do_several(function, row, kSquareRows, 1);
  if (function != nullptr) function = do_several(function, row + 1, kSquareColumns, kSquareGroup);
  if (function != nullptr) function->addFnAttr(llvm::Attribute::AlwaysInline);
  return function;
}

}  // namespace dhpvm::codegen
