// SPDX-License-Identifier: Apache-2.0
// Values of registers in the first iteration of a strip (loop_strips.h), computed at its start: indices that are
// invariant or grow with the counter, and invariant limits. They are computed from invariant registers, from sizes and
// fields of kept references, and by operations that cannot trap.
#pragma once

#include <vector>

#include "codegen/lower/flow.h"
#include "codegen/lower/ir_emitter.h"
#include "codegen/lower/loop_strips.h"
#include "codegen/lower/register_file.h"

namespace dhpvm::codegen {

class StripValues {
 public:
  // `kept`: by number of the loop's references; they have been loaded.
  StripValues(const Flow& flow, const InnerLoop& loop, const std::vector<LoopStrips::KeptReference>& kept,
              IrEmitter& emitter, RegisterFile& registers)
      : flow_(flow), loop_(loop), kept_(kept), ir_(emitter), registers_(registers), b_(emitter.builder()) {}

  // The value of the register before the instruction at `pc`, if Flow has traced it.
  llvm::Value* at(std::uint32_t block, std::uint32_t pc, std::uint32_t reg, SlotType type = SlotType::kI64);

 private:
  llvm::Value* element(std::uint32_t block, const Instruction& i);
  llvm::Value* field(const Instruction& i);

  const Flow& flow_;
  const InnerLoop& loop_;
  const std::vector<LoopStrips::KeptReference>& kept_;
  IrEmitter& ir_;
  RegisterFile& registers_;
  llvm::IRBuilder<>& b_;
};

}  // namespace dhpvm::codegen
