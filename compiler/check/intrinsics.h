// SPDX-License-Identifier: Apache-2.0
// Functions that the standard library declares `intrinsic`.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class IntrinsicCalls : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E intrinsic(const FunctionInstance& instance, const std::vector<E>& arguments, Range range);
  E atomic_call(const FunctionSymbol& symbol, const ast::Expr& call);

 private:
  E machine_op(bytecode::Op op, const Type* type, const std::vector<E>& arguments, Range range);
  E neutral(const Type* type, Range range);
  E integer_abs(E value, Range range);
  E array_intrinsic(std::string_view name, const std::vector<E>& arguments, const FunctionInstance& instance,
                    Range range);
};

}  // namespace dhpvm::compiler
