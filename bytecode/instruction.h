// SPDX-License-Identifier: Apache-2.0
// One decoded instruction, and the registers that it reads and writes, windows of calls included: what passes over
// code need.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/isa.h"
#include "bytecode/module.h"

namespace dhpvm::bytecode {

struct Instruction {
  Op op;
  std::uint16_t a;
  std::uint16_t b;
  std::uint16_t c;
  std::int32_t bc;
  Word x;            // the second word, or 0
  std::uint32_t pc;  // word offset inside the function
  const DecodeRow* row;

  std::uint32_t next() const { return pc + row->words; }
  bool has(OpFlag flag) const { return (row->flags & flag) != 0; }
  std::uint16_t x0() const { return x0_of(x); }
  std::uint16_t x1() const { return x1_of(x); }
  std::uint32_t type() const { return static_cast<std::uint32_t>(x); }
  bool is_branch() const { return has(kBranch) || row->family == Family::kJump; }
  // The word offset inside the function that a branch leads to.
  std::uint32_t target() const {
    const bool wide = row->b == Operand::kOff32;
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(pc) +
                                      (wide ? bc : static_cast<std::int16_t>(c)));
  }
};

Instruction decode(const Module& module, const Function& function, std::uint32_t pc);

// The numbers of primitives and of references among the values.
struct Split {
  std::uint32_t primitives = 0;
  std::uint32_t references = 0;
};
Split split(const std::vector<ValueType>& types);

// The signature of what a call, call.native or call.interface calls, the receiver of an interface's method
// not included.
const Signature& called_signature(const Module& module, const Instruction& instruction);

// Calls read(reg) for every reference register read, windows included.
template <typename Read>
void for_each_reference_read(const Module& module, const Function& function, const Instruction& instruction,
                             Read&& read) {
  const auto range = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) read(first + i);
  };
  const DecodeRow& row = *instruction.row;
  if ((row.ref_reads & kInA) != 0) read(instruction.a);
  if ((row.ref_reads & kInC) != 0) read(instruction.c);
  if (row.family == Family::kStringConcat) {
    range(instruction.b, instruction.c);
  } else if ((row.ref_reads & kInB) != 0) {
    read(instruction.b);
  }
  switch (row.family) {
    case Family::kReturn: range(0, split(function.signature.results).references); break;
    case Family::kCall:
    case Family::kCallNative:
      range(instruction.b, split(called_signature(module, instruction).parameters).references);
      break;
    case Family::kCallInterface:
      range(instruction.b, 1 + split(called_signature(module, instruction).parameters).references);
      break;
    case Family::kParallelFor:
      range(instruction.b,
            split(module.functions[module.kernels[instruction.c].function].signature.parameters).references);
      break;
    default: break;
  }
}

// Calls write(reg) for every reference register that holds a new value afterwards.
template <typename Write>
void for_each_reference_write(const Module& module, const Instruction& instruction, Write&& write) {
  const DecodeRow& row = *instruction.row;
  if (row.ref_writes != 0) write(std::uint32_t{instruction.a});
  if (row.family == Family::kCall || row.family == Family::kCallNative ||
      row.family == Family::kCallInterface) {
    const std::uint32_t count = split(called_signature(module, instruction).results).references;
    for (std::uint32_t i = 0; i < count; ++i) write(instruction.b + i);
  }
}

}  // namespace dhpvm::bytecode
