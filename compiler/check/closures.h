// SPDX-License-Identifier: Apache-2.0
// Closures: functions of their own, with what they capture.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ClosureChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // `hints`: types for parameters without one, null where unknown; `result_hint`: likewise.
  E closure(const ast::Expr& expr, const std::vector<const Type*>& hints, const Type* result_hint);
  E closure_expr(const ast::Expr& expr, const Type* expected);

 private:
  bool closure_result(const ast::Expr& result, hir::Function& function);
};

}  // namespace dhpvm::compiler
