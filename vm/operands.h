// SPDX-License-Identifier: Apache-2.0
// Puts operands that did not stand in registers where the messages of traps read them. Internal to this room.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "bytecode/decode.h"
#include "vm/context.h"

namespace dhpvm::vm {

// Makes `p` and `r` the register windows of the instruction at context.pc, and puts its first primitive
// operands and its first reference where it names them: what compiled code passes on when it traps.
inline void place_operands(Context& context, std::uint64_t* p, gc::Ref* r,
                           std::span<const std::uint64_t> operands, gc::Ref reference) {
  const bytecode::Word word = *context.pc;
  const bytecode::DecodeRow& row = bytecode::kDecode[bytecode::op_of(word)];
  const bytecode::Word x = row.words == 2 ? context.pc[1] : 0;
  const std::pair<unsigned, std::uint16_t> positions[] = {{bytecode::kInA, bytecode::a_of(word)},
                                                          {bytecode::kInB, bytecode::b_of(word)},
                                                          {bytecode::kInC, bytecode::c_of(word)},
                                                          {bytecode::kInX0, bytecode::x0_of(x)},
                                                          {bytecode::kInX1, bytecode::x1_of(x)}};
  std::size_t next = 0;
  for (const auto& [position, reg] : positions) {
    if ((row.reads & position) != 0 && next < operands.size()) p[reg] = operands[next++];
  }
  if ((row.ref_reads & bytecode::kInA) != 0) {
    r[bytecode::a_of(word)] = reference;
  } else if ((row.ref_reads & bytecode::kInB) != 0) {
    r[bytecode::b_of(word)] = reference;
  }
  context.p = p;
  context.r = r;
}

}  // namespace dhpvm::vm
