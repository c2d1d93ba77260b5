// SPDX-License-Identifier: Apache-2.0
// Joins text. A number between two texts is converted directly into the joined text.
#pragma once

#include <span>
#include <vector>

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class TextLowering : public LoweringPart {
 public:
  using Operands = std::span<hir::Expr* const>;
  using LoweringPart::LoweringPart;

  // Joins the operands, one or more of type str.
  void join(Operands operands, Register to, bool fresh);

 private:
  void add_parts(Operands operands, std::vector<hir::Expr*>& parts) const;
  static bool has_numbers_between_texts(Operands operands);
  void join_numbers(Operands operands, Register to, bool fresh);
  void join_texts(Operands operands, Register to, bool fresh);
};

}  // namespace dhpvm::compiler
