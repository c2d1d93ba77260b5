// SPDX-License-Identifier: Apache-2.0
// Where a stretch of iterations is set up (loop_strips.h): the number of iterations that may come after the first one
// before a check fails. All checks that the stretch leaves out are made here for its first iteration; where one fails,
// the loop goes on carefully.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "codegen/lower/lowering.h"
#include "codegen/lower/strip_values.h"

namespace dhpvm::codegen {

class TurnLimit {
 public:
  // `kept`: by number of the loop's references; they have been loaded.
  TurnLimit(Lowering& lowering, const InnerLoop& loop, const std::vector<LoopStrips::KeptReference>& kept,
            llvm::BasicBlock* careful)
      : lowering_(lowering),
        flow_(lowering.flow()),
        loop_(loop),
        kept_(kept),
        careful_(careful),
        ir_(lowering.emitter()),
        registers_(lowering.registers()),
        b_(ir_.builder()),
        values_(flow_, loop, kept, ir_, registers_) {}

  // A value of type i64, or null if no check ever fails that has not failed in the first iteration.
  llvm::Value* find();

 private:
  void require(llvm::Value* ok);
  void look_at(const SteppedAccess& access);
  void stay_below(llvm::Value* low, llvm::Value* high, const Step& step);
  void stay_inside(const SteppedAccess& access, const BoundCheck& check);
  void limit(const Step& step, llvm::Value* room);
  llvm::Value* turns();

  Lowering& lowering_;
  const Flow& flow_;
  const InnerLoop& loop_;
  const std::vector<LoopStrips::KeptReference>& kept_;
  llvm::BasicBlock* const careful_;
  IrEmitter& ir_;
  RegisterFile& registers_;
  llvm::IRBuilder<>& b_;
  StripValues values_;
  // By the size of a step: how far what moves by it may go.
  std::map<std::pair<std::int64_t, std::uint32_t>, llvm::Value*> rooms_;
};

}  // namespace dhpvm::codegen
