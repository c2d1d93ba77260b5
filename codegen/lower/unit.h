// SPDX-License-Identifier: Apache-2.0
// The functions of one LLVM module being filled, and how they call each other.
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/runtime_table.h"

namespace dhpvm::codegen {

// The lowering's facts about a function, apart from its bytecode.
struct FunctionFacts {
  std::uint32_t stack_cost = 0;  // the part of the stack limit that a call takes
};

class Unit {
 public:
  Unit(const bytecode::Module& bytecode, const RuntimeLayout& layout, const std::vector<FunctionFacts>& facts,
       llvm::Module& module, Mutation* mutation = nullptr)
      : bytecode(bytecode), layout(layout), facts(facts), module(module), mutation(mutation) {}

  // Declares the body of a function that will be lowered into this module.
  void declare(std::uint32_t function);
  // The callee of a call: its body if it is in this module, and otherwise a stub that looks for
  // compiled code when it runs.
  llvm::Function* callee(std::uint32_t function);
  // For a call of a function in its own body: a copy of the body to be inlined there, so that two levels of a recursion
  // share a frame; the body itself if the function is too large for that.
  llvm::Function* callee_of_itself(std::uint32_t function);
  // The same interface, but runs the function in the interpreter.
  llvm::Function* interpreted(std::uint32_t function);
  llvm::FunctionType* body_type(std::uint32_t function);
  static std::string symbol(const char* prefix, std::uint32_t function);

  const bytecode::Module& bytecode;
  const RuntimeLayout& layout;
  const std::vector<FunctionFacts>& facts;
  llvm::Module& module;
  Mutation* const mutation;  // null but in tests

 private:
  std::map<std::uint32_t, llvm::Function*> bodies_;
  std::map<std::uint32_t, llvm::Function*> stubs_;
  std::map<std::uint32_t, llvm::Function*> interpreted_;
  std::map<std::uint32_t, llvm::Function*> copies_;
};

}  // namespace dhpvm::codegen
