// SPDX-License-Identifier: Apache-2.0
// Expressions: dispatch, conditionals, strings, and all others except arithmetic and objects.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ExpressionLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  Register scalar(const Expr& e);
  Values values(const Expr& e);
  void into(const Expr& e, Target target);
  using LoweringPart::into;
  void effect(const Expr& e);  // the value is unused
  // The registers that hold the value already, if reading it takes no code.
  std::optional<std::span<const Register>> in_place(const Expr& e);
  // The bool of a condition.
  void truth(const Expr& e, Target target);

 private:
  void compute(const Expr& e, Target target);
  void zero(const Leaves& types, std::span<const Register> to);
  void conversion(const Expr& e, Target target);
  void make_struct(const Expr& e, Target target);
  void conditional(const Expr& e, Target target);
  void block(const Expr& e, Target target);
  void string(const Expr& e, Target target);
  void intrinsic(const Expr& e, Target target);
  void nullable(const Expr& e, Target target);
};

}  // namespace dhpvm::compiler
