// SPDX-License-Identifier: Apache-2.0
// The functions that a kernel for a device needs from its surroundings: the device loop calls them, and each back end
// replaces by what its language has.
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
  // i32 (i32): the same number. The optimiser does not know that, and lets each call stand where it is: so nothing that
  // is computed from it takes registers before.
  kOpaque,
  // void (): all work-items of the group get here before one goes on, and see each other's local memory; in PTX, their
  // global memory, too
  kBarrier,
  kFence,  // void (): what this work-item did to global memory comes before what it does next, for all others
};

llvm::Value* call_builtin(llvm::IRBuilderBase& builder, Builtin which, unsigned dimension = 0);
llvm::Value* call_mul_high(llvm::IRBuilderBase& builder, llvm::Value* left, llvm::Value* right);
llvm::CallInst* call_opaque(llvm::IRBuilderBase& builder, llvm::Value* number);
// Local memory of every group that runs the kernel, unwritten at first.
llvm::GlobalVariable* local_array(llvm::Module& module, llvm::Type* element, std::uint64_t count,
                                  const char* name);
std::vector<llvm::GlobalVariable*> local_arrays(llvm::Module& module);
// Puts the given ones and all others at the same place, for groups that use either those or these.
void overlay_local_arrays(llvm::Module& module, const std::vector<llvm::GlobalVariable*>& some);
// The one that is called; nothing if it is another function.
std::optional<Builtin> builtin_of(const llvm::CallBase& call);

}  // namespace dhpvm::codegen
