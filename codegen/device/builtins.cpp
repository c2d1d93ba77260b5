// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/builtins.h"

#include <array>

namespace dhpvm::codegen {
namespace {

// By Builtin.
constexpr std::array kNames = {"dhpvm.global.id", "dhpvm.global.size", "dhpvm.group.id", "dhpvm.group.count",
                               "dhpvm.local.id",  "dhpvm.barrier",     "dhpvm.fence"};

bool has_dimension(Builtin which) { return which < Builtin::kBarrier; }

}  // namespace

llvm::Value* call_builtin(llvm::IRBuilderBase& b, Builtin which, unsigned dimension) {
  const bool number = has_dimension(which);
  auto* const type = number ? llvm::FunctionType::get(b.getInt64Ty(), {b.getInt32Ty()}, false)
                            : llvm::FunctionType::get(b.getVoidTy(), false);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module.getOrInsertFunction(kNames[static_cast<unsigned>(which)], type);
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setWillReturn();
  if (number) {
    function->setDoesNotAccessMemory();
    function->setSpeculatable();
    return b.CreateCall(callee, {b.getInt32(dimension)});
  }
  // What a barrier depends on must not depend on the work-item.
  if (which == Builtin::kBarrier) function->setConvergent();
  return b.CreateCall(callee);
}

std::optional<Builtin> builtin_of(const llvm::CallBase& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return std::nullopt;
  for (unsigned which = 0; which < kNames.size(); ++which) {
    if (callee->getName() == kNames[which]) return static_cast<Builtin>(which);
  }
  return std::nullopt;
}

}  // namespace dhpvm::codegen
