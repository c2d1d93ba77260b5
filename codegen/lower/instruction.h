// SPDX-License-Identifier: Apache-2.0
// The facts that lowering and its analyses need of a decoded instruction beyond bytecode/instruction.h.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bytecode/instruction.h"

namespace dhpvm::codegen {

using bytecode::Instruction;
using bytecode::Split;

// The content of a primitive register, as far as LLVM's types go. kBits are 64 bits that may be read as anything: the
// value of a constant. kWideBits, known to Flow only, are those of one that 32 bits do not hold, as of -1; kBits again
// where nothing reads the upper half, as of an i32.
enum class SlotType : std::uint8_t { kUnset, kBits, kWideBits, kI32, kI64, kF32, kF64 };

// The slot type of a value of this kind.
SlotType slot_type(bytecode::Kind kind);

// The type that the instruction leaves in its primitive result register; kUnset if it has none, or if that depends on
// more than the opcode (moves).
SlotType result_type(const Instruction& i);

// The bits that an instruction of the family Constant leaves in its register.
inline std::uint64_t constant_bits(const Instruction& i) {
  return i.row->x == bytecode::Operand::kImm64 ? i.x : static_cast<std::uint64_t>(std::int64_t{i.bc});
}

// The classes that implement interface `interface`, ascending. No class is ever added to a module.
std::vector<std::uint32_t> implementers(const bytecode::Module& module, std::uint32_t interface);

// Calls use(position, reg) for each primitive register that the instruction reads by itself, in the order of positions
// (bytecode::kInA to kInX1). Windows of calls are not among them.
template <typename Use>
void for_each_operand(const Instruction& i, Use&& use) {
  const std::pair<unsigned, std::uint32_t> operands[] = {{bytecode::kInA, i.a},
                                                         {bytecode::kInB, i.b},
                                                         {bytecode::kInC, i.c},
                                                         {bytecode::kInX0, i.x0()},
                                                         {bytecode::kInX1, i.x1()}};
  for (const auto& [position, reg] : operands) {
    if ((i.row->reads & position) != 0) use(position, reg);
  }
}

}  // namespace dhpvm::codegen
