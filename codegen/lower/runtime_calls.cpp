// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/runtime_calls.h"

#include <llvm/TargetParser/Triple.h>

#include <string>
#include <string_view>

namespace dhpvm::codegen {
namespace {

enum class Effect : std::uint8_t {
  kCall,   // reads and writes any memory
  kAny,    // the same, but rarely called
  kMake,   // the same, and compiled code continues after it
  kState,  // accesses no memory that compiled code can see, except its arguments'
  kPure,   // only reads its arguments' memory
};

struct Row {
  const char* name;
  // Result and parameters, a letter each: v nothing, p pointer, l i64, i i32.
  std::string_view types;
  Effect effect;
};

// In the order of RuntimeCall.
constexpr Row kRows[] = {
    {"dhpvm_trap", "vppllillllp", Effect::kAny},
    {"dhpvm_unwind", "vpl", Effect::kAny},
    {"dhpvm_tick", "lppll", Effect::kState},
    {"dhpvm_call", "lpplli", Effect::kCall},
    {"dhpvm_interpret", "lpplli", Effect::kAny},
    {"dhpvm_call_method", "lpplllii", Effect::kCall},
    {"dhpvm_call_native", "lppllli", Effect::kCall},
    {"dhpvm_parallel_for", "lppllli", Effect::kCall},
    {"dhpvm_inaccessible", "ippllpli", Effect::kState},
    {"dhpvm_new_object", "ppplli", Effect::kMake},
    {"dhpvm_new_array", "pppllilll", Effect::kCall},
    {"dhpvm_new_weak", "pppllip", Effect::kAny},
    {"dhpvm_array_copy", "ippllpplll", Effect::kCall},
    {"dhpvm_array_close", "vpp", Effect::kAny},
    {"dhpvm_string_constant", "ppplli", Effect::kState},
    {"dhpvm_string_concat", "ppplli", Effect::kCall},
    {"dhpvm_string_equal", "ipp", Effect::kPure},
    {"dhpvm_string_compare", "ipp", Effect::kPure},
    {"dhpvm_is_instance", "ippi", Effect::kPure},
    {"dhpvm_log_object", "vpp", Effect::kState},
    {"dhpvm_log_element", "vppl", Effect::kState},
    {"dhpvm_catch_trap", "lp", Effect::kAny},
    {"dhpvm_caught", "lppll", Effect::kAny},
    {"dhpvm_trap_again", "vppllll", Effect::kAny},
};

llvm::Type* type_of(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'v': return llvm::Type::getVoidTy(context);
    case 'p': return llvm::PointerType::getUnqual(context);
    case 'i': return llvm::Type::getInt32Ty(context);
    default: return llvm::Type::getInt64Ty(context);
  }
}

llvm::Function* declare(llvm::Module& module, const Row& row) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> parameters;
  for (const char letter : row.types.substr(1)) parameters.push_back(type_of(context, letter));
  llvm::Type* const result = type_of(context, row.types.front());
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(row.name, llvm::FunctionType::get(result, parameters, false));
  return llvm::cast<llvm::Function>(callee.getCallee());
}

bool is_seldom(Effect effect) {
  return effect == Effect::kAny || effect == Effect::kMake || effect == Effect::kState;
}

void describe(llvm::Function& function, Effect effect) {
  function.setDoesNotThrow();
  if (is_seldom(effect)) {
    function.addFnAttr(llvm::Attribute::Cold);
    // Rarely executed code must not prevent inlining of its function.
    function.addFnAttr("call-inline-cost", "0");
  }
  if (effect == Effect::kState) {
    function.setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  } else if (effect == Effect::kPure) {
    function.setMemoryEffects(llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref) |
                              llvm::MemoryEffects::inaccessibleMemOnly(llvm::ModRefInfo::Ref));
    function.setWillReturn();
  }
}

// A wrapper for functions that are rarely called: saves the registers that C++ functions may clobber. So values that
// are live across such a call need no callee-saved registers, which every compiled function would have to save at its
// entry.
llvm::Function* saving_registers(llvm::Module& module, const Row& row, llvm::Function& function) {
  const std::string name = std::string("saving.") + row.name;
  if (llvm::Function* const known = module.getFunction(name)) return known;
  llvm::Function* const saving =
      llvm::Function::Create(function.getFunctionType(), llvm::GlobalValue::InternalLinkage, name, module);
  describe(*saving, row.effect);
  saving->setCallingConv(llvm::CallingConv::PreserveMost);
  saving->addFnAttr(llvm::Attribute::NoInline);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", saving));
  llvm::SmallVector<llvm::Value*> arguments;
  for (llvm::Argument& argument : saving->args()) arguments.push_back(&argument);
  llvm::CallInst* const call = b.CreateCall(&function, arguments);
  if (saving->getReturnType()->isVoidTy()) {
    b.CreateRetVoid();
  } else {
    b.CreateRet(call);
  }
  return saving;
}

}  // namespace

llvm::CallInst* call_runtime(llvm::IRBuilder<>& builder, llvm::Module& module, RuntimeCall call,
                             llvm::ArrayRef<llvm::Value*> arguments) {
  const Row& row = kRows[static_cast<unsigned>(call)];
  llvm::Function* function = declare(module, row);
  describe(*function, row.effect);
  const llvm::Triple triple(module.getTargetTriple());
  const bool returns = row.effect == Effect::kState || row.effect == Effect::kMake;
  if (returns && (triple.getArch() == llvm::Triple::x86_64 || triple.isAArch64())) {
    function = saving_registers(module, row, *function);
  }
  llvm::CallInst* const made = builder.CreateCall(function, arguments);
  made->setCallingConv(function->getCallingConv());
  return made;
}

}  // namespace dhpvm::codegen
