// SPDX-License-Identifier: Apache-2.0
// Formatted strings: f"... {value:spec} ...".
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class FormatStringParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Expr* format_string();

 private:
  void format_hole(ast::FormatPart& part);
  // False if it ends inside the braces of a number.
  bool format_spec(ast::FormatPart& part);
  void skip_to_hole_end(bool in_number);
};

}  // namespace dhpvm::compiler
