// SPDX-License-Identifier: Apache-2.0
// The instruction set as C++: opcodes, operand kinds and the encoding of words. Generated from isa.def.
//
// Version rules: a reader refuses another major version and any newer minor version; it accepts every older
// minor version of its major. An opcode never changes its meaning; new ones get a new minor version.
//   1.0  first version
#pragma once

#include <cstdint>
#include <string_view>

namespace dhpvm::bytecode {

constexpr std::uint16_t kMajorVersion = 1;
constexpr std::uint16_t kMinorVersion = 0;

enum class Op : std::uint16_t {
#define DHPVM_OP(name, mnemonic, a, b, c, x, flags, semantics) k##name,
#include "bytecode/isa.def"
#undef DHPVM_OP
};

constexpr std::uint16_t kOpCount = 0
#define DHPVM_OP(name, mnemonic, a, b, c, x, flags, semantics) +1
#include "bytecode/isa.def"
#undef DHPVM_OP
    ;

// The functions of `math` that are not exact: their last bits depend on the library that computes them.
constexpr bool is_approximate(Op op) { return op >= Op::kExpF32 && op <= Op::kHypotF64; }

// What an operand position holds; see the head of isa.def.
enum class Operand : std::uint8_t {
  kNone,
  kPd,
  kPs,
  kPm,
  kRd,
  kRs,
  kPWin,
  kRWin,
  kImm,
  kImm32,
  kOff,
  kOff32,
  kString,
  kFunc,
  kKernel,
  kImport,
  kMethod,
  kLocal,
  kField,
  kTrapCode,
  kImm64,
  kType,
  kP,
  kPP,
  kElement,  // the second word
};

enum OpFlag : std::uint8_t {
  kNone = 0,
  kKernel = 1 << 0,
  kTraps = 1 << 1,
  kCollects = 1 << 2,
  kEndsBlock = 1 << 3,
  kBranch = 1 << 4,
  kBackEdge = 1 << 5,
  kCall = 1 << 6,
};

struct OpInfo {
  std::string_view name;      // "AddI32"
  std::string_view mnemonic;  // "add.i32"
  Operand a, b, c, x;
  std::uint8_t flags;          // OpFlag bits
  std::string_view semantics;  // one line
  constexpr unsigned words() const { return x == Operand::kNone ? 1 : 2; }
};

// The row of `op`. `op` must be below kOpCount.
const OpInfo& info(Op op);

// The opcode with this mnemonic, or kOpCount's value cast to Op.
Op find_mnemonic(std::string_view mnemonic);

// One 64-bit word of code: an instruction, or the second word of one.
using Word = std::uint64_t;

constexpr Word encode(Op op, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0) {
  return static_cast<Word>(op) | Word{a} << 16 | Word{b} << 32 | Word{c} << 48;
}
constexpr Word encode32(Op op, std::uint16_t a, std::uint32_t bc) {
  return static_cast<Word>(op) | Word{a} << 16 | Word{bc} << 32;
}
constexpr std::uint16_t op_of(Word w) { return static_cast<std::uint16_t>(w); }
constexpr std::uint16_t a_of(Word w) { return static_cast<std::uint16_t>(w >> 16); }
constexpr std::uint16_t b_of(Word w) { return static_cast<std::uint16_t>(w >> 32); }
constexpr std::uint16_t c_of(Word w) { return static_cast<std::uint16_t>(w >> 48); }
constexpr std::int32_t bc_of(Word w) { return static_cast<std::int32_t>(w >> 32); }
constexpr std::uint16_t x0_of(Word x) { return static_cast<std::uint16_t>(x); }
constexpr std::uint16_t x1_of(Word x) { return static_cast<std::uint16_t>(x >> 16); }
constexpr std::uint32_t element_offset_of(Word x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t element_size_of(Word x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace dhpvm::bytecode
