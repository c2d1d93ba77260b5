// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/builtins.h"

#include <algorithm>
#include <array>

namespace dhpvm::codegen {
namespace {

// By Builtin.
constexpr std::array kNames = {"dhpvm.global.id", "dhpvm.global.size", "dhpvm.group.id", "dhpvm.group.count",
                               "dhpvm.local.id",  "dhpvm.local.size",  "dhpvm.mul.high", "dhpvm.opaque",
                               "dhpvm.barrier",   "dhpvm.fence"};

llvm::Function* declare(llvm::IRBuilderBase& b, Builtin which, llvm::FunctionType* type) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module.getOrInsertFunction(kNames[static_cast<unsigned>(which)], type);
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setWillReturn();
  if (which == Builtin::kOpaque) {
    function->setOnlyAccessesInaccessibleMemory();
  } else if (!type->getReturnType()->isVoidTy()) {
    function->setDoesNotAccessMemory();
    function->setSpeculatable();
  }
  // All work-items of a group must reach a barrier together, so LLVM must not move it into divergent control flow.
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

llvm::CallInst* call_opaque(llvm::IRBuilderBase& b, llvm::Value* number) {
  llvm::Type* const type = b.getInt32Ty();
  return b.CreateCall(declare(b, Builtin::kOpaque, llvm::FunctionType::get(type, {type}, false)), {number});
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

std::vector<llvm::GlobalVariable*> local_arrays(llvm::Module& module) {
  std::vector<llvm::GlobalVariable*> found;
  for (llvm::GlobalVariable& memory : module.globals()) {
    if (memory.getAddressSpace() == kLocalSpace) found.push_back(&memory);
  }
  return found;
}

void overlay_local_arrays(llvm::Module& module, const std::vector<llvm::GlobalVariable*>& some) {
  constexpr std::uint64_t kAlignment = 16;
  if (some.empty()) return;
  const std::vector<llvm::GlobalVariable*> all = local_arrays(module);
  std::array<std::uint64_t, 2> bytes = {};
  std::vector<std::uint64_t> offsets;
  for (llvm::GlobalVariable* const memory : all) {
    std::uint64_t& end = bytes[std::ranges::find(some, memory) == some.end() ? 0 : 1];
    offsets.push_back(end);
    end += llvm::alignTo(module.getDataLayout().getTypeAllocSize(memory->getValueType()), kAlignment);
  }
  llvm::Type* const byte = llvm::Type::getInt8Ty(module.getContext());
  llvm::GlobalVariable* const place = local_array(module, byte, std::max(bytes[0], bytes[1]), "tiles");
  place->setAlignment(llvm::Align(kAlignment));
  for (std::size_t n = 0; n < all.size(); ++n) {
    llvm::Constant* const offset =
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), offsets[n]);
    all[n]->replaceAllUsesWith(llvm::ConstantExpr::getInBoundsGetElementPtr(byte, place, offset));
    all[n]->eraseFromParent();
  }
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
