// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Kind;
using bytecode::Op;

Instruction decode(const bytecode::Module& module, const bytecode::Function& function, std::uint32_t pc) {
  const bytecode::Word* const code = module.code.data() + function.code_offset;
  const bytecode::Word word = code[pc];
  Instruction i{};
  i.op = static_cast<Op>(bytecode::op_of(word));
  i.a = bytecode::a_of(word);
  i.b = bytecode::b_of(word);
  i.c = bytecode::c_of(word);
  i.bc = bytecode::bc_of(word);
  i.pc = pc;
  i.row = &bytecode::kDecode[bytecode::op_of(word)];
  if (i.row->words == 2) i.x = code[pc + 1];
  return i;
}

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

SlotType result_type(const bytecode::DecodeRow& row) {
  if (row.family == Family::kConstant) return SlotType::kBits;
  return row.result ? slot_type(*row.result) : SlotType::kUnset;
}

Split split(const std::vector<bytecode::ValueType>& types) {
  Split count;
  for (const bytecode::ValueType& type : types) ++(type.is_ref() ? count.references : count.primitives);
  return count;
}

const bytecode::Signature& called_signature(const bytecode::Module& module, const Instruction& instruction) {
  switch (instruction.row->family) {
    case Family::kCallNative: return module.imports[instruction.c].signature;
    case Family::kCallInterface: return module.types[instruction.type()].methods[instruction.c].signature;
    default: return module.functions[instruction.c].signature;
  }
}

}  // namespace dhpvm::codegen
