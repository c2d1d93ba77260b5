// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/runtime_calls.h"

#include <string_view>

namespace dhpvm::codegen {
namespace {

enum class Effect : std::uint8_t {
  kCall,   // reads and writes everything
  kAny,    // the same, but seldom called
  kState,  // touches nothing that compiled code can see, its arguments' memory apart
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
    {"dhpvm_new_object", "ppplli", Effect::kAny},
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
};

llvm::Type* type_of(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'v': return llvm::Type::getVoidTy(context);
    case 'p': return llvm::PointerType::getUnqual(context);
    case 'i': return llvm::Type::getInt32Ty(context);
    default: return llvm::Type::getInt64Ty(context);
  }
}

}  // namespace

llvm::FunctionCallee runtime_call(llvm::Module& module, RuntimeCall call) {
  const Row& row = kRows[static_cast<unsigned>(call)];
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> parameters;
  for (const char letter : row.types.substr(1)) parameters.push_back(type_of(context, letter));
  llvm::Type* const result = type_of(context, row.types.front());
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(row.name, llvm::FunctionType::get(result, parameters, false));
  auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  if (row.effect == Effect::kAny || row.effect == Effect::kState) function->addFnAttr(llvm::Attribute::Cold);
  if (row.effect == Effect::kState) {
    function->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  } else if (row.effect == Effect::kPure) {
    function->setMemoryEffects(llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref) |
                               llvm::MemoryEffects::inaccessibleMemOnly(llvm::ModRefInfo::Ref));
    function->setWillReturn();
  }
  return callee;
}

}  // namespace dhpvm::codegen
