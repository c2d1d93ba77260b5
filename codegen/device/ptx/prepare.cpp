// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/ptx/prepare.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Metadata.h>

#include "codegen/device/atomics.h"
#include "codegen/device/builtins.h"

namespace dhpvm::codegen::ptx {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;

// By axis.
constexpr ID kThread[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,
                          llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,
                          llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z};
constexpr ID kThreads[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x,
                           llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y,
                           llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z};
constexpr ID kGroup[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                         llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                         llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
constexpr ID kGroups[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                          llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                          llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};

// Empty inline assembly, which the optimiser must assume to have effects.
Value* opaque(llvm::IRBuilder<>& b, Value* number) {
  llvm::Type* const type = number->getType();
  auto* const text = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=r,0",
                                          /*hasSideEffects=*/true);
  llvm::CallInst* const call = b.CreateCall(text, {number});
  call->setOnlyAccessesInaccessibleMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

Value* replacement(Builtin which, llvm::CallBase& call) {
  llvm::IRBuilder<> b(&call);
  const auto* const axis =
      call.arg_empty() ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  const auto number = [&](const ID(&of)[3]) {
    return b.CreateZExt(b.CreateIntrinsic(of[axis->getZExtValue()], {}, {}), b.getInt64Ty());
  };
  switch (which) {
    case Builtin::kGlobalId:
      return b.CreateAdd(b.CreateMul(number(kGroup), number(kThreads)), number(kThread));
    case Builtin::kGlobalSize: return b.CreateMul(number(kGroups), number(kThreads));
    case Builtin::kGroupId: return number(kGroup);
    case Builtin::kGroupCount: return number(kGroups);
    case Builtin::kLocalId: return number(kThread);
    case Builtin::kLocalSize: return number(kThreads);
    case Builtin::kMulHigh:
      return b.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ull, {},
                               {call.getArgOperand(0), call.getArgOperand(1)});
    case Builtin::kOpaque: return opaque(b, call.getArgOperand(0));
    case Builtin::kBarrier: return b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    case Builtin::kFence: break;
  }
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {});
}

}  // namespace

void replace_builtins(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    for (llvm::User* const user : llvm::make_early_inc_range(function.users())) {
      auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
      const std::optional<Builtin> which = call == nullptr ? std::nullopt : builtin_of(*call);
      if (!which) break;
      Value* const value = replacement(*which, *call);
      if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
  }
}

void expand_inexact_updates(llvm::Module& module, bool fast_math) {
  if (fast_math) return;
  llvm::SmallVector<llvm::AtomicRMWInst*> updates;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (update != nullptr && update->getType()->isFloatTy()) updates.push_back(update);
    }
  }
  for (llvm::AtomicRMWInst* const update : updates) expand_update(*update);
}

void mark_constant_loads(const DeviceEntry& entry) {
  // The parameter that the address is based on, if its memory does not overlap others'; null if it is unknown.
  const auto base_of = [](const Value* address) -> const llvm::Argument* {
    llvm::SmallVector<const Value*, 2> bases;
    llvm::getUnderlyingObjects(address, bases, nullptr, 0);
    return bases.size() == 1 ? llvm::dyn_cast<llvm::Argument>(bases.front()) : nullptr;
  };
  llvm::SmallPtrSet<const llvm::Argument*, 4> written;
  for (llvm::Instruction& instruction : llvm::instructions(*entry.function)) {
    const auto* const update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
    const bool is_in_order = update == nullptr || update->getOrdering() != llvm::AtomicOrdering::Monotonic;
    if (instruction.isAtomic() && is_in_order) return;
    const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (store == nullptr && update == nullptr) continue;
    const Value* const address = store != nullptr ? store->getPointerOperand() : update->getPointerOperand();
    if (address->getType()->getPointerAddressSpace() != kGlobalSpace) continue;
    const llvm::Argument* const base = base_of(address);
    if (base == nullptr) return;
    written.insert(base);
  }
  for (llvm::Instruction& instruction : llvm::instructions(*entry.function)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || load->getPointerAddressSpace() != kGlobalSpace) continue;
    const llvm::Argument* const base = base_of(load->getPointerOperand());
    if (base == nullptr || written.contains(base)) continue;
    if (entry.parameters[base->getArgNo()].kind != ParameterKind::kData) continue;
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
  }
}

void mark_kernel(llvm::Function& function, std::uint32_t most, std::uint32_t together) {
  llvm::LLVMContext& context = function.getContext();
  llvm::NamedMDNode* const annotations = function.getParent()->getOrInsertNamedMetadata("nvvm.annotations");
  const auto annotate = [&](const char* what, std::uint32_t value) {
    llvm::Metadata* const parts[] = {
        llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, what),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value))};
    annotations->addOperand(llvm::MDNode::get(context, parts));
  };
  annotate("kernel", 1);
  if (most == 0) return;
  annotate("maxntidx", most);
  annotate("maxntidy", 1);
  annotate("maxntidz", 1);
  if (together > 1) annotate("minctasm", together);
}

}  // namespace dhpvm::codegen::ptx
