// SPDX-License-Identifier: Apache-2.0
#include "bytecode/instruction.h"

namespace dhpvm::bytecode {

Instruction decode(const Module& module, const Function& function, std::uint32_t pc) {
  const Word* const code = module.code.data() + function.code_offset;
  const Word word = code[pc];
  Instruction i{};
  i.op = static_cast<Op>(op_of(word));
  i.a = a_of(word);
  i.b = b_of(word);
  i.c = c_of(word);
  i.bc = bc_of(word);
  i.pc = pc;
  i.row = &kDecode[op_of(word)];
  if (i.row->words == 2) i.x = code[pc + 1];
  return i;
}

Split split(const std::vector<ValueType>& types) {
  Split count;
  for (const ValueType& type : types) ++(type.is_ref() ? count.references : count.primitives);
  return count;
}

const Signature& called_signature(const Module& module, const Instruction& instruction) {
  switch (instruction.row->family) {
    case Family::kCallNative: return module.imports[instruction.c].signature;
    case Family::kCallInterface: return module.types[instruction.type()].methods[instruction.c].signature;
    default: return module.functions[instruction.c].signature;
  }
}

}  // namespace dhpvm::bytecode
