// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/instruction.h"

#include <array>
#include <string_view>

namespace dhpvm::codegen {

using bytecode::Kind;
using bytecode::Op;
using bytecode::Rule;

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

std::string_view kind_suffix(Op op) {
  const std::string_view mnemonic = bytecode::info(op).mnemonic;
  return mnemonic.substr(mnemonic.rfind('.') + 1);
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

namespace {

SlotType type_of_suffix(std::string_view suffix) {
  if (suffix == "i64" || suffix == "u64") return SlotType::kI64;
  if (suffix == "f32") return SlotType::kF32;
  if (suffix == "f64") return SlotType::kF64;
  return SlotType::kI32;
}

SlotType find_result_type(Op op) {
  const bytecode::OpInfo& row = bytecode::info(op);
  if (op == Op::kImm || op == Op::kConst) return SlotType::kBits;
  if (op == Op::kMoveP) return SlotType::kUnset;
  if (row.a != bytecode::Operand::kPd && row.a != bytecode::Operand::kPm) return SlotType::kUnset;
  // The semantics say it ("P[a].f32 = .."), or else the mnemonic ("load.f32").
  const std::size_t at = row.semantics.find("P[a].");
  if (at != std::string_view::npos) return type_of_suffix(row.semantics.substr(at + 5, 3));
  return type_of_suffix(kind_suffix(op));
}

}  // namespace

SlotType result_type(Op op) {
  static const auto table = [] {
    std::array<SlotType, bytecode::kOpCount> types{};
    for (std::uint16_t i = 0; i < bytecode::kOpCount; ++i) types[i] = find_result_type(static_cast<Op>(i));
    return types;
  }();
  return table[static_cast<std::uint16_t>(op)];
}

Split split(const std::vector<bytecode::ValueType>& types) {
  Split count;
  for (const bytecode::ValueType& type : types) ++(type.is_ref() ? count.references : count.primitives);
  return count;
}

const bytecode::Signature& called_signature(const bytecode::Module& module, const Instruction& instruction) {
  switch (instruction.row->rule) {
    case Rule::kCallNative: return module.imports[instruction.c].signature;
    case Rule::kCallInterface: return module.types[instruction.type()].methods[instruction.c].signature;
    default: return module.functions[instruction.c].signature;
  }
}

}  // namespace dhpvm::codegen
