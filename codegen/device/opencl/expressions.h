// SPDX-License-Identifier: Apache-2.0
// The instructions of a function as expressions of OpenCL C.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <string>

#include "codegen/device/opencl/calls.h"
#include "codegen/device/opencl/variables.h"

namespace dhpvm::codegen::opencl {

class Expressions {
 public:
  Expressions(const llvm::Function& function, Helpers& helpers);

  const Variables& variables() const { return variables_; }

  // An operand, in parentheses if it needs them.
  std::string operand(const llvm::Value& value);
  // The same where no parentheses are needed.
  std::string value(const llvm::Value& value);
  // The instruction's computation, or its effect if it has no value.
  std::string expression(const llvm::Instruction& instruction);
  // As a condition, negated if `negate`.
  std::string condition(const llvm::Value& value, bool negate);

  // A message about the first instruction that OpenCL C cannot express; empty if there is none.
  const std::string& problem() const { return problem_; }

 private:
  const std::string& name(const llvm::Value& value) const { return variables_.name(value); }
  std::string signed_operand(const llvm::Value& value);
  std::string binary(const llvm::BinaryOperator& instruction);
  std::string compare(const llvm::CmpInst& instruction, bool negate);
  std::string cast(const llvm::CastInst& instruction);
  std::string call(const llvm::CallInst& instruction);
  std::string exchange(const llvm::AtomicCmpXchgInst& instruction);
  std::string update(const llvm::AtomicRMWInst& instruction);
  // The value truncated to `bits` in a C type that may be wider.
  std::string cut(std::string text, unsigned bits) const;

  // A byte address as base and offset; an index, if it addresses an element of an array.
  struct Place {
    const llvm::Value* base = nullptr;
    llvm::SmallVector<std::pair<const llvm::Value*, std::int64_t>> terms;  // i64 values and their factors
    std::int64_t constant = 0;
  };
  Place place_of(const llvm::Value& address) const;
  std::string sum(const Place& place, std::int64_t unit);
  std::string pointer(const llvm::Value& address);
  // The memory there, accessed with `type`.
  std::string memory(const llvm::Value& address, const llvm::Type* type, bool is_volatile);
  std::string as_value(std::string text, const llvm::Type* type) const;

  std::string unknown(const llvm::Instruction& instruction);

  const llvm::DataLayout& layout_;
  Helpers& helpers_;
  Variables variables_;
  std::string problem_;
};

// The declared element type of an array in private or local memory, and the number of elements.
struct ArrayText {
  std::string_view type;
  std::int64_t bytes = 1;  // of an element
  std::uint64_t count = 0;
};
ArrayText array_text(const llvm::Type* type, const llvm::DataLayout& layout);

}  // namespace dhpvm::codegen::opencl
