// SPDX-License-Identifier: Apache-2.0
// Calls of the virtual machine's functions from compiled code.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace dhpvm::codegen {

enum class RuntimeCall : std::uint8_t {
  kTrap,            // void(state, r, left, site, i32 kind, ticks, i64 x 3 operands, ptr reference)
  kUnwind,          // void(state, site): the call at `site` has trapped
  kTick,            // i64 ticks(state, r, left, site)
  kCall,            // i64 ticks(state, r, ticks, left, i32 function): arguments and results in the windows
  kInterpret,       // the same, never entering compiled code of that function
  kCallMethod,      // i64 ticks(state, r, ticks, left, site, i32 interface, i32 method): of the object r[0]
  kCallNative,      // i64 ticks(state, r, ticks, left, site, i32 import)
  kParallelFor,     // i64 ticks(state, r, ticks, left, site, i32 kernel)
  kInaccessible,    // i32 retry(state, r, left, site, ptr array, i64 index, i32 write)
  kNewObject,       // ptr(state, r, left, site, i32 type)
  kNewArray,        // ptr(state, r, left, site, i32 type, i64 x 3 sizes)
  kNewWeak,         // ptr(state, r, left, site, i32 type, ptr target)
  kArrayCopy,       // i32 ok(state, r, left, site, ptr to, ptr from, i64 to_start, i64 from_start, i64 count)
  kArrayClose,      // void(state, ptr array)
  kStringConstant,  // ptr(state, r, left, site, i32 string)
  kStringConcat,    // ptr(state, r, left, site, i32 count): r[0..count), which `r` does not root
  kStringEqual,     // i32(ptr, ptr)
  kStringCompare,   // i32(ptr, ptr)
  kIsInstance,      // i32(state, ptr object, i32 type)
  kLogObject,       // void(state, ptr object)
  kLogElement,      // void(state, ptr array, i64 index)
  kCatchTrap,       // i64 ticks(state): stops the propagating trap; negative if it must not be caught
  kCaught,          // i64 number(state, r, left, site): stores the caught trap
  kTrapAgain,       // void(state, r, left, site, ticks, i64 number): rethrows a stored trap
};

// Emits a call in the module that is being filled.
llvm::CallInst* call_runtime(llvm::IRBuilder<>& builder, llvm::Module& module, RuntimeCall call,
                             llvm::ArrayRef<llvm::Value*> arguments);

}  // namespace dhpvm::codegen
