// SPDX-License-Identifier: Apache-2.0
// Conversion of values to text: for print, str and formatted strings.
#pragma once

#include <string>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class TextMaker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E text_of(E value, Range range);
  E join_text(const std::vector<E>& parts, Range range);
  E format_expr(const ast::Expr& expr);
  // How to write a byte as a text, where `str(x)` is not what is meant; empty for other values.
  std::string advice(const Type* type, Range range);

 private:
  E struct_text(E value, Range range);
  E array_text(E array, Range range);
  E row_text(const std::vector<E>& place, Range range);
  E formatted(E value, const ast::FormatPart& part);
  E spec_text(const ast::FormatPart& part);
  E spec_number(const ast::Expr& number);
  E padding(const ast::FormatPart& part);
};

}  // namespace dhpvm::compiler
