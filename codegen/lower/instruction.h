// SPDX-License-Identifier: Apache-2.0
// Facts about a decoded instruction that lowering and its analyses need beyond bytecode/instruction.h.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bytecode/instruction.h"

namespace dhpvm::codegen {

using bytecode::Instruction;
using bytecode::Split;

// The LLVM type of a primitive register's content. kBits are 64 bits of any type: the value of a constant. kWideBits,
// used by Flow only, are those of a constant that does not fit 32 bits, such as -1; kBits again where the upper half,
// as of an i32, is dead.
enum class SlotType : std::uint8_t { kUnset, kBits, kWideBits, kI32, kI64, kF32, kF64 };

// The slot type of a value of this kind.
SlotType slot_type(bytecode::Kind kind);

// The type of the instruction's primitive result; kUnset if it has none, or if the type depends on more than the opcode
// (moves).
SlotType result_type(const Instruction& i);

// The bits of an instruction of the family Constant.
inline std::uint64_t constant_bits(const Instruction& i) {
  return i.row->x == bytecode::Operand::kImm64 ? i.x : static_cast<std::uint64_t>(std::int64_t{i.bc});
}

// The classes that implement interface `interface`, in ascending order. The classes of a module are fixed.
std::vector<std::uint32_t> implementers(const bytecode::Module& module, std::uint32_t interface);

// Calls use(position, reg) for each primitive register that the instruction reads, in the order of positions
// (bytecode::kInA to kInX1), without the windows of calls.
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
