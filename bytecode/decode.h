// SPDX-License-Identifier: Apache-2.0
// A decode table for passes over code: per opcode which operands are registers, which it reads and
// writes, what kinds of elements it accepts, and which rule of the verifier applies. Derived from isa.def
// at compile time.
#pragma once

#include <array>
#include <cstdint>

#include "bytecode/isa.h"
#include "bytecode/module.h"

namespace dhpvm::bytecode {

// How the verifier treats an opcode beyond the encoding of its operands.
enum class Rule : std::uint8_t {
  kPlain,  // the masks below say all
  kReturn,
  kReturnP,
  kReturnR,
  kTrap,
  kTrapMessage,
  kCall,
  kCallNative,
  kCallInterface,
  kParallelFor,
  kMoveR,
  kNull,
  kConstString,
  kLoad,
  kStore,
  kLoadField,
  kStoreField,
  kArrayLength,
  kArrayDim,
  kIndex,
  kNewArray,
  kArrayCopy,
  kArrayClose,
  kAtomic,
  kLocal,
  kNew,
  kGetField,
  kPutField,
  kUpcast,
  kCast,
  kIsType,
  kNewWeak,
  kGetWeak,
  kString,  // reads one string in b
  kStringConcat,
  kStringPair,  // reads strings in b and c
};

// Positions of registers in a word pair, as bits of the masks below.
enum Position : std::uint8_t { kInA = 1, kInB = 2, kInC = 4, kInX0 = 8, kInX1 = 16 };

struct DecodeRow {
  Operand a = Operand::kNone, b = Operand::kNone, c = Operand::kNone, x = Operand::kNone;
  std::uint8_t words = 1;
  std::uint8_t flags = 0;
  Rule rule = Rule::kPlain;
  // Registers read and written, as Position bits. Windows of calls and ranges are the rules' business.
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;  // kInA or nothing
  std::uint8_t ref_reads = 0;
  std::uint8_t ref_writes = 0;  // kInA or nothing
  std::uint16_t kinds = 0;      // element kinds that a load, store, get, put or atomic accepts: 1 << Kind
};

// Indexed by opcode.
extern const std::array<DecodeRow, kOpCount> kDecode;

}  // namespace dhpvm::bytecode
