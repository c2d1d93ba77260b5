// SPDX-License-Identifier: Apache-2.0
// The decode table for passes over code: the columns of isa.def per opcode and, derived from them at compile time, the
// registers that it reads and writes and the element kinds that it accepts.
#pragma once

#include <array>
#include <cstdint>

#include "bytecode/isa.h"
#include "bytecode/module.h"

namespace dhpvm::bytecode {

// Positions of registers in a word pair, as bits of the masks below.
enum Position : std::uint8_t { kInA = 1, kInB = 2, kInC = 4, kInX0 = 8, kInX1 = 16 };

struct DecodeRow {
  Operand a = Operand::kNone, b = Operand::kNone, c = Operand::kNone, x = Operand::kNone;
  std::uint8_t words = 1;
  std::uint8_t flags = 0;
  Family family = Family::kNop;
  Operation operation = Operation::kNone;
  Memory memory = Memory::kNone;
  // Whether the operand masks below suffice for the verifier.
  bool is_plain = true;
  // Registers read and written, as Position bits. The families define the windows of calls and the ranges.
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;  // kInA or nothing
  std::uint8_t ref_reads = 0;
  std::uint8_t ref_writes = 0;  // kInA or nothing
  std::uint16_t kinds = 0;      // element kinds that a load, store, get, put or atomic accepts: 1 << Kind
  std::optional<Kind> kind;     // of the operands, or of the element or field
  std::optional<Kind> result;   // of P[a]
};

// Indexed by opcode.
extern const std::array<DecodeRow, kOpCount> kDecode;

}  // namespace dhpvm::bytecode
