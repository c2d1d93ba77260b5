// SPDX-License-Identifier: Apache-2.0
// One decoded instruction, and what it reads and writes, as the lowering and its analyses need it.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/isa.h"
#include "bytecode/module.h"

namespace dhpvm::codegen {

// What a primitive register holds, as far as LLVM's types go. kBits are 64 bits that may be read as anything:
// the value of a constant.
enum class SlotType : std::uint8_t { kUnset, kBits, kI32, kI64, kF32, kF64 };

struct Instruction {
  bytecode::Op op;
  std::uint16_t a;
  std::uint16_t b;
  std::uint16_t c;
  std::int32_t bc;
  bytecode::Word x;  // the second word, or 0
  std::uint32_t pc;  // word offset inside the function
  const bytecode::DecodeRow* row;

  std::uint32_t next() const { return pc + row->words; }
  bool has(bytecode::OpFlag flag) const { return (row->flags & flag) != 0; }
  std::uint16_t x0() const { return bytecode::x0_of(x); }
  std::uint16_t x1() const { return bytecode::x1_of(x); }
  std::uint32_t type() const { return static_cast<std::uint32_t>(x); }
  bool is_branch() const { return has(bytecode::kBranch) || row->family == bytecode::Family::kJump; }
  // Of a branch: the word offset inside the function that it leads to.
  std::uint32_t target() const {
    const bool wide = row->b == bytecode::Operand::kOff32;
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(pc) +
                                      (wide ? bc : static_cast<std::int16_t>(c)));
  }
};

Instruction decode(const bytecode::Module& module, const bytecode::Function& function, std::uint32_t pc);

// The slot type of a value of this kind.
SlotType slot_type(bytecode::Kind kind);

// What the instruction leaves in its primitive result register; kUnset if it has none, or if that depends on
// more than the opcode (moves).
SlotType result_type(const bytecode::DecodeRow& row);

// The classes that implement interface `interface`, ascending. No class is ever added to a module.
std::vector<std::uint32_t> implementers(const bytecode::Module& module, std::uint32_t interface);

// How many of the values are primitives, and how many references.
struct Split {
  std::uint32_t primitives = 0;
  std::uint32_t references = 0;
};
Split split(const std::vector<bytecode::ValueType>& types);

// The signature of what a call, call.native or call.interface calls, the receiver of an interface's method
// not included.
const bytecode::Signature& called_signature(const bytecode::Module& module, const Instruction& instruction);

// Calls read(reg) for every reference register read, windows included.
template <typename Read>
void for_each_reference_read(const bytecode::Module& module, const bytecode::Function& function,
                             const Instruction& instruction, Read&& read) {
  using bytecode::Family;
  const auto range = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) read(first + i);
  };
  const bytecode::DecodeRow& row = *instruction.row;
  if ((row.ref_reads & bytecode::kInA) != 0) read(instruction.a);
  if ((row.ref_reads & bytecode::kInC) != 0) read(instruction.c);
  if (row.family == Family::kStringConcat) {
    range(instruction.b, instruction.c);
  } else if ((row.ref_reads & bytecode::kInB) != 0) {
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
void for_each_reference_write(const bytecode::Module& module, const Instruction& instruction, Write&& write) {
  using bytecode::Family;
  const bytecode::DecodeRow& row = *instruction.row;
  if (row.ref_writes != 0) write(std::uint32_t{instruction.a});
  if (row.family == Family::kCall || row.family == Family::kCallNative ||
      row.family == Family::kCallInterface) {
    const std::uint32_t count = split(called_signature(module, instruction).results).references;
    for (std::uint32_t i = 0; i < count; ++i) write(instruction.b + i);
  }
}

}  // namespace dhpvm::codegen
