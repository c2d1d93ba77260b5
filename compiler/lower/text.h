// SPDX-License-Identifier: Apache-2.0
// Text that is joined. A number between two texts becomes text in the place where it is wanted.
#pragma once

#include <span>
#include <vector>

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class TextLowering : public LoweringPart {
 public:
  using Operands = std::span<hir::Expr* const>;
  using LoweringPart::LoweringPart;

  // The operands, one or more of type str, joined.
  void join(Operands operands, Register to, bool fresh);

 private:
  void add_parts(Operands operands, std::vector<hir::Expr*>& parts) const;
  static bool has_numbers_between_texts(Operands operands);
  void join_numbers(Operands operands, Register to, bool fresh);
  void join_texts(Operands operands, Register to, bool fresh);
};

}  // namespace dhpvm::compiler
