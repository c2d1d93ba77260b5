// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/stated_values.h"

#include <algorithm>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;

StatedValues::StatedValues(const bytecode::Module& module, const bytecode::Function& function)
    : module_(module), everywhere_(function.primitive_registers), here_(function.primitive_registers) {
  // Parameters have an initial value.
  std::vector<bool> varies(function.primitive_registers, false);
  std::uint32_t parameters = 0;
  for (const bytecode::ValueType& parameter : function.signature.parameters) {
    if (!parameter.is_ref()) varies[parameters++] = true;
  }
  for (std::uint32_t pc = 0; pc < function.code_size;) {
    const Instruction i = decode(module, function, pc);
    writes_of(i, [&](std::uint32_t reg, std::optional<std::uint64_t> value) {
      // The verifier guarantees that a register is written on every path before it is read.
      if (!value || (everywhere_[reg] && *everywhere_[reg] != *value)) varies[reg] = true;
      everywhere_[reg] = value;
    });
    pc = i.next();
  }
  for (std::uint32_t reg = 0; reg < varies.size(); ++reg) {
    if (varies[reg]) everywhere_[reg].reset();
  }
}

void StatedValues::begin_block() { std::ranges::fill(here_, std::nullopt); }

void StatedValues::step(const Instruction& instruction) {
  writes_of(instruction,
            [this](std::uint32_t reg, std::optional<std::uint64_t> value) { here_[reg] = value; });
}

template <typename Write>
void StatedValues::writes_of(const Instruction& i, Write&& write) const {
  switch (i.row->family) {
    case Family::kCall:
    case Family::kCallNative:
    case Family::kCallInterface: {
      std::uint32_t reg = i.a;
      for (const bytecode::ValueType& result : called_signature(module_, i).results) {
        if (!result.is_ref()) write(reg++, std::nullopt);
      }
      return;
    }
    case Family::kParallelFor:
      for (std::uint32_t n = 0; n < module_.kernels[i.c].reductions.size(); ++n) write(i.a + n, std::nullopt);
      return;
    default: break;
  }
  switch (i.op) {
    case Op::kImm: write(i.a, static_cast<std::uint64_t>(std::int64_t{i.bc})); return;
    case Op::kConst: write(i.a, i.x); return;
    case Op::kMoveP: write(i.a, here_[i.b]); return;
    default: break;
  }
  if (i.row->writes != 0) write(i.a, std::nullopt);
}

}  // namespace dhpvm::codegen
