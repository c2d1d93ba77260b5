// SPDX-License-Identifier: Apache-2.0
// Ranges with any step: the number of iterations is computed first, so that the counter cannot overflow.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class CountedLoopLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void for_counted(const Stmt& s, Register index);

 private:
  Register widened(const Type* type, Register from);
  void divide_by_step(Register at, std::optional<std::int64_t> step, Register step_register,
                      const Type* type);
  void advance(Register index, std::optional<std::int64_t> step, Register step_register, const Type* type);
  void check_step(const Expr& step, Register at);
};

}  // namespace dhpvm::compiler
