// SPDX-License-Identifier: Apache-2.0
// The instructions of a function as expressions of OpenCL C: which become variables of their own, and which are written
// where they are used.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <string>

#include "codegen/device/opencl/calls.h"

namespace dhpvm::codegen::opencl {

class Expressions {
 public:
  Expressions(const llvm::Function& function, Helpers& helpers);

  // Whether the instruction is written where it is used. Otherwise it has a variable, if it has a value at all.
  bool is_inline(const llvm::Instruction& instruction) const { return inline_.contains(&instruction); }
  // A cosine whose variable gets its value along with that of the sine, which stands before it.
  bool is_computed_with_sine(const llvm::Instruction& instruction) const {
    return cosines_.contains(&instruction);
  }
  // The variable, alloca or argument.
  const std::string& name(const llvm::Value& value) const { return names_.find(&value)->second; }

  // An operand: what needs brackets has them.
  std::string operand(const llvm::Value& value);
  // The same where no brackets are needed.
  std::string value(const llvm::Value& value);
  // What the instruction computes, or does if it has no value.
  std::string expression(const llvm::Instruction& instruction);
  // As a condition, negated if `negate`.
  std::string condition(const llvm::Value& value, bool negate);

  // Adds the variables that an operand reads, instructions written in it included.
  void variables(const llvm::Value& value, llvm::SmallPtrSetImpl<const llvm::Value*>& found) const;

  // What could not be written, empty if nothing.
  const std::string& problem() const { return problem_; }

 private:
  void pair_sines(const llvm::Function& function);
  void choose_names(const llvm::Function& function);
  void choose_inline(const llvm::Function& function);
  bool can_be_inline(const llvm::Instruction& instruction) const;
  bool is_repeated_address(const llvm::Instruction& instruction) const;
  const llvm::Instruction* only_user(const llvm::Instruction& instruction) const;

  std::string signed_operand(const llvm::Value& value);
  std::string binary(const llvm::BinaryOperator& instruction);
  std::string compare(const llvm::CmpInst& instruction, bool negate);
  std::string cast(const llvm::CastInst& instruction);
  std::string call(const llvm::CallInst& instruction);
  std::string exchange(const llvm::AtomicCmpXchgInst& instruction);
  std::string update(const llvm::AtomicRMWInst& instruction);
  // The value in `bits` of a C type that may have more.
  std::string cut(std::string text, unsigned bits) const;

  // A byte address as base and distance; the element of an array, if it is one.
  struct Place {
    const llvm::Value* base = nullptr;
    llvm::SmallVector<std::pair<const llvm::Value*, std::int64_t>> terms;  // i64 values and their factors
    std::int64_t constant = 0;
  };
  bool is_base(const llvm::Value& value) const;
  Place place_of(const llvm::Value& address) const;
  std::string sum(const Place& place, std::int64_t unit);
  std::string pointer(const llvm::Value& address);
  // What stands for the memory there, accessed with `type`.
  std::string memory(const llvm::Value& address, const llvm::Type* type, bool is_volatile);
  std::string as_value(std::string text, const llvm::Type* type) const;

  std::string unknown(const llvm::Instruction& instruction);

  const llvm::DataLayout& layout_;
  Helpers& helpers_;
  llvm::DenseMap<const llvm::Value*, std::string> names_;
  llvm::SmallPtrSet<const llvm::Value*, 32> inline_;
  llvm::DenseMap<const llvm::Value*, const llvm::Instruction*> sines_;  // with the cosine of the same number
  llvm::SmallPtrSet<const llvm::Value*, 4> cosines_;                    // those of them
  std::string problem_;
};

// The elements that an array in private or local memory is declared with: its type, and how many there are.
struct ArrayText {
  std::string_view type;
  std::int64_t bytes = 1;  // of an element
  std::uint64_t count = 0;
};
ArrayText array_text(const llvm::Type* type, const llvm::DataLayout& layout);

}  // namespace dhpvm::codegen::opencl
