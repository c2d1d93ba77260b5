// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Kind;

SlotType slot_type(Kind kind) {
  switch (kind) {
    case Kind::kI64:
    case Kind::kU64: return SlotType::kI64;
    case Kind::kF32: return SlotType::kF32;
    case Kind::kF64: return SlotType::kF64;
    default: return SlotType::kI32;
  }
}

std::vector<std::uint32_t> implementers(const bytecode::Module& module, std::uint32_t interface) {
  std::vector<std::uint32_t> classes;
  for (std::uint32_t id = 0; id < module.types.size(); ++id) {
    for (const bytecode::Implementation& implementation : module.types[id].implementations) {
      if (implementation.interface == interface) classes.push_back(id);
    }
  }
  return classes;
}

SlotType result_type(const Instruction& i) {
  if (i.row->family == Family::kConstant)
    return constant_bits(i) >> 32 == 0 ? SlotType::kBits : SlotType::kWideBits;
  return i.row->result ? slot_type(*i.row->result) : SlotType::kUnset;
}

}  // namespace dhpvm::codegen
