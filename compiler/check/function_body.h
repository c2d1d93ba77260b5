// SPDX-License-Identifier: Apache-2.0
// Checks the body of a function as a whole: parameters, result, and missing `return`.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class FunctionChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void check_function(FunctionInstance& instance);
  hir::Function* entry_of(FunctionInstance& main);
  hir::Function* forwarder(Nominal& type, FunctionInstance& method, Range range);
  hir::Expr* check_constant(const ast::Expr& expr, const Type* expected, std::string_view what);

 private:
  hir::Stmt* give(E value, Range range);
};

}  // namespace dhpvm::compiler
