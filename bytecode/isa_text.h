// SPDX-License-Identifier: Apache-2.0
// The names and descriptions of instructions for people: for the assembler, the disassembler, the reference and for
// messages. The meaning of an instruction is read from isa.h, never from its mnemonic; ./dev check restricts the files
// that may include this one.
#pragma once

#include <string_view>

#include "bytecode/isa.h"

namespace dhpvm::bytecode {

struct OpText {
  std::string_view name;       // "AddI32"
  std::string_view mnemonic;   // "add.i32"
  std::string_view semantics;  // one line
};

// The texts of `op`. `op` must be below kOpCount.
const OpText& text_of(Op op);
inline std::string_view mnemonic_of(Op op) { return text_of(op).mnemonic; }

// The opcode with this mnemonic, or kOpCount's value cast to Op.
Op find_mnemonic(std::string_view mnemonic);

}  // namespace dhpvm::bytecode
