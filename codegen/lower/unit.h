// SPDX-License-Identifier: Apache-2.0
// The functions of the LLVM module being filled, and their calls of each other.
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/lower/seen_calls.h"
#include "codegen/runtime_table.h"

namespace dhpvm::codegen {

// The calling convention of compiled functions: no callee-saved registers, and twelve arguments in registers, four of
// which every function has. Most functions return early, or call only functions that do not return; with the C
// convention they saved six registers in every call.
inline constexpr llvm::CallingConv::ID kBodyConvention = llvm::CallingConv::PreserveNone;

// The lowering's facts about a function, apart from its bytecode.
struct FunctionFacts {
  std::uint32_t stack_cost = 0;  // the part of the stack limit that a call takes
};

class Unit {
 public:
  Unit(const bytecode::Module& bytecode, const RuntimeLayout& layout, const std::vector<FunctionFacts>& facts,
       llvm::Module& module, const std::map<std::uint32_t, SeenCalls>& seen, Mutation* mutation = nullptr)
      : bytecode(bytecode), layout(layout), facts(facts), module(module), mutation(mutation), seen_(seen) {}

  // The calls of the function that its loops inline.
  const SeenCalls& seen_calls(std::uint32_t function) const {
    const auto found = seen_.find(function);
    return found == seen_.end() ? kNoSeenCalls : found->second;
  }
  // Declares the body of a function that will be lowered into this module.
  void declare(std::uint32_t function);
  // The callee of a call: its body if it is in this module, and otherwise a stub that looks up compiled code at run
  // time.
  llvm::Function* callee(std::uint32_t function);
  // For a recursive call: whether a copy of the body can be inlined there, so that two levels of recursion share a
  // frame. The function must be small enough.
  bool has_copy(std::uint32_t function);
  llvm::Function* copy(std::uint32_t function);
  // Whether a call of the function needs no check of the machine's stack: it and its callees use little, and none of
  // them is recursive.
  bool takes_little_stack(std::uint32_t function);
  // The same interface, but interprets the function.
  llvm::Function* interpreted(std::uint32_t function);
  llvm::FunctionType* body_type(std::uint32_t function);
  static std::string symbol(const char* prefix, std::uint32_t function);

  const bytecode::Module& bytecode;
  const RuntimeLayout& layout;
  const std::vector<FunctionFacts>& facts;
  llvm::Module& module;
  Mutation* const mutation;  // null but in tests

 private:
  std::uint32_t usual_words(std::uint32_t function);
  std::uint64_t stack_use(std::uint32_t function, unsigned levels);

  const std::map<std::uint32_t, SeenCalls>& seen_;  // by function
  std::map<std::uint32_t, llvm::Function*> bodies_;
  std::map<std::uint32_t, llvm::Function*> stubs_;
  std::map<std::uint32_t, llvm::Function*> interpreted_;
  std::map<std::uint32_t, llvm::Function*> copies_;
  std::map<std::uint32_t, std::uint32_t> usual_words_;                     // by function; see rare_blocks.h
  std::map<std::pair<std::uint32_t, unsigned>, std::uint64_t> stack_use_;  // by function and levels
};

}  // namespace dhpvm::codegen
