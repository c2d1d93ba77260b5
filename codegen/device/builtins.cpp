// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/builtins.h"

#include <array>

namespace dhpvm::codegen {
namespace {

// By Builtin.
constexpr std::array kNames = {"dhpvm.global.id",   "dhpvm.global.size", "dhpvm.group.id",
                               "dhpvm.group.count", "dhpvm.local.id",    "dhpvm.local.size",
                               "dhpvm.mul.high",    "dhpvm.barrier",     "dhpvm.fence"};

llvm::Function* declare(llvm::IRBuilderBase& b, Builtin which, llvm::FunctionType* type) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module.getOrInsertFunction(kNames[static_cast<unsigned>(which)], type);
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setWillReturn();
  if (!type->getReturnType()->isVoidTy()) {
    function->setDoesNotAccessMemory();
    function->setSpeculatable();
  }
  // All work-items of a group must reach a barrier together, so LLVM may not move it into divergent control flow.
  if (which == Builtin::kBarrier) function->setConvergent();
  return function;
}

}  // namespace

llvm::Value* call_builtin(llvm::IRBuilderBase& b, Builtin which, unsigned dimension) {
  if (which >= Builtin::kBarrier) {
    return b.CreateCall(declare(b, which, llvm::FunctionType::get(b.getVoidTy(), false)));
  }
  llvm::Function* const function =
      declare(b, which, llvm::FunctionType::get(b.getInt64Ty(), {b.getInt32Ty()}, false));
  return b.CreateCall(function, {b.getInt32(dimension)});
}

llvm::Value* call_mul_high(llvm::IRBuilderBase& b, llvm::Value* left, llvm::Value* right) {
  llvm::Type* const type = b.getInt64Ty();
  return b.CreateCall(declare(b, Builtin::kMulHigh, llvm::FunctionType::get(type, {type, type}, false)),
                      {left, right});
}

llvm::GlobalVariable* local_array(llvm::Module& module, llvm::Type* element, std::uint64_t count,
                                  const char* name) {
  auto* const array = llvm::ArrayType::get(element, count);
  auto* const memory = new llvm::GlobalVariable(module, array, false, llvm::GlobalValue::InternalLinkage,
                                                llvm::UndefValue::get(array), name, nullptr,
                                                llvm::GlobalValue::NotThreadLocal, kLocalSpace);
  memory->setAlignment(llvm::Align(8));
  return memory;
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
