// SPDX-License-Identifier: Apache-2.0
// Decides which instructions of a function become variables of OpenCL C and which are printed at their use, and names
// all variables.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <string>

namespace dhpvm::codegen::opencl {

// Whether the address is the start of an array's elements, which has its own variable.
bool is_base(const llvm::Value& value);

class Variables {
 public:
  explicit Variables(const llvm::Function& function);

  // Whether the instruction is printed at its use. Otherwise it has a variable, if it has a value at all.
  bool is_inline(const llvm::Instruction& instruction) const { return inline_.contains(&instruction); }
  // The cosine that is computed along with this sine, or null.
  const llvm::Instruction* cosine_of(const llvm::Instruction& sine) const { return sines_.lookup(&sine); }
  // Whether it is a cosine whose variable is assigned together with the preceding sine.
  bool is_computed_with_sine(const llvm::Instruction& instruction) const {
    return cosines_.contains(&instruction);
  }
  // Variables, allocas and arguments have names.
  bool has_name(const llvm::Value& value) const { return names_.contains(&value); }
  const std::string& name(const llvm::Value& value) const { return names_.find(&value)->second; }
  // Adds the variables that an operand reads, including those of instructions printed in it.
  void add_read(const llvm::Value& value, llvm::SmallPtrSetImpl<const llvm::Value*>& found) const;

 private:
  void pair_sines(const llvm::Function& function);
  void choose_names(const llvm::Function& function);
  void choose_inline(const llvm::Function& function);
  bool can_be_inline(const llvm::Instruction& instruction) const;
  bool is_repeated_address(const llvm::Instruction& instruction) const;

  llvm::DenseMap<const llvm::Value*, std::string> names_;
  llvm::SmallPtrSet<const llvm::Value*, 32> inline_;
  llvm::DenseMap<const llvm::Value*, const llvm::Instruction*>
      sines_;                                         // with the cosine of the same argument
  llvm::SmallPtrSet<const llvm::Value*, 4> cosines_;  // the cosines among them
};

}  // namespace dhpvm::codegen::opencl
