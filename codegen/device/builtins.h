// SPDX-License-Identifier: Apache-2.0
// The functions that a kernel for a device needs from its environment: the device loop calls them, and each back end
// replaces them by those of its language.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace dhpvm::codegen {

// LLVM's address spaces, the same in all back ends.
inline constexpr unsigned kPrivateSpace = 0;
inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kLocalSpace = 3;  // of a work-group

enum class Builtin : std::uint8_t {
  // The first five take the number of a dimension (a constant): i64 (i32).
  kGlobalId,
  kGlobalSize,
  kGroupId,
  kGroupCount,
  kLocalId,
  kLocalSize,
  kMulHigh,  // i64 (i64, i64): the upper half of the product of two unsigned numbers
  // i32 (i32): the identity, which the optimiser does not know and does not move. So computations that depend on the
  // result occupy no registers before the call.
  kOpaque,
  // void (): a barrier of the group, with visibility of local memory and, in PTX, of global memory
  kBarrier,
  kFence,  // void (): orders this work-item's accesses to global memory for all others
};

llvm::Value* call_builtin(llvm::IRBuilderBase& builder, Builtin which, unsigned dimension = 0);
llvm::Value* call_mul_high(llvm::IRBuilderBase& builder, llvm::Value* left, llvm::Value* right);
llvm::CallInst* call_opaque(llvm::IRBuilderBase& builder, llvm::Value* number);
// Local memory of every group that runs the kernel, initially undefined.
llvm::GlobalVariable* local_array(llvm::Module& module, llvm::Type* element, std::uint64_t count,
                                  const char* name);
std::vector<llvm::GlobalVariable*> local_arrays(llvm::Module& module);
// Overlays the given arrays and all others in the same memory, for groups that use either those or these.
void overlay_local_arrays(llvm::Module& module, const std::vector<llvm::GlobalVariable*>& some);
// The builtin that the call calls; empty for any other function.
std::optional<Builtin> builtin_of(const llvm::CallBase& call);

}  // namespace dhpvm::codegen
