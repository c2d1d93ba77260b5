// SPDX-License-Identifier: Apache-2.0
// The instruction set as C++: opcodes, their properties, and the encoding of words. Generated from isa.def.
//
// Version rules: a reader refuses another major version and any newer minor version; it accepts every older
// minor version of its major. An opcode never changes its meaning; new ones get a new minor version, a row of isa.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "bytecode/kind.h"

namespace dhpvm::bytecode {

enum class Op : std::uint16_t {
#define DHPVM_OP(name, ...) k##name,
#include "bytecode/isa.def"
};

constexpr std::uint16_t kOpCount = 0
#define DHPVM_OP(name, ...) +1
#include "bytecode/isa.def"
    ;

struct Version {
  std::uint16_t major_number;
  std::uint16_t minor_number;
  std::uint16_t first;  // of the opcodes that it added
};
inline constexpr Version kVersions[] = {
#define DHPVM_ISA_VERSION(major, minor, first, meaning) \
  {major, minor, static_cast<std::uint16_t>(Op::k##first)},
#include "bytecode/isa.def"
};
constexpr std::uint16_t kMajorVersion = std::end(kVersions)[-1].major_number;
constexpr std::uint16_t kMinorVersion = std::end(kVersions)[-1].minor_number;

// The effect of an instruction on memory.
enum class Memory : std::uint8_t {
#define DHPVM_MEMORY(name, meaning) k##name,
#include "bytecode/isa.def"
};

// Instructions that verifier, code generator and analyses treat in one way, apart from what their other columns say.
enum class Family : std::uint8_t {
#define DHPVM_FAMILY(name, memory, verified, meaning) k##name,
#include "bytecode/isa.def"
};

constexpr Memory memory_of(Family family) {
  constexpr Memory kMemories[] = {
#define DHPVM_FAMILY(name, memory, verified, meaning) Memory::k##memory,
#include "bytecode/isa.def"
  };
  return kMemories[static_cast<std::size_t>(family)];
}

// The verifier's treatment of a family.
enum class Verified : std::uint8_t {
  kPlain,  // by its operands alone
  kRules,  // by rules of its own
};

constexpr Verified verified_by(Family family) {
  constexpr Verified kVerified[] = {
#define DHPVM_FAMILY(name, memory, verified, meaning) Verified::k##verified,
#include "bytecode/isa.def"
  };
  return kVerified[static_cast<std::size_t>(family)];
}

// The operation of an instruction, in families of several operations.
enum class Operation : std::uint8_t {
  kNone,
#define DHPVM_OPERATION(name) k##name,
#include "bytecode/isa.def"
};

// The content of an operand position; see the head of isa.def.
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
  kApproximate = 1 << 7,
};

// A row of isa.def without its texts, which isa_text.h has: execution never depends on an instruction's spelling.
struct OpInfo {
  Operand a, b, c, x;
  Family family;
  Operation operation;
  std::optional<Kind> kind;    // of the operands, or of the element or field
  std::optional<Kind> result;  // of P[a]
  std::uint8_t flags;          // OpFlag bits
  constexpr unsigned words() const { return x == Operand::kNone ? 1 : 2; }
  constexpr bool has(OpFlag flag) const { return (flags & flag) != 0; }
  constexpr Memory memory() const { return memory_of(family); }
};

// The row of `op`. `op` must be below kOpCount.
const OpInfo& info(Op op);

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
