// SPDX-License-Identifier: Apache-2.0
// Construction of structs, classes and weak references.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class Construction : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E construct(NominalSymbol& symbol, const ast::Expr& call, const Type* expected);
  E construct_type(const Type* type, const ast::Expr& call, const std::vector<E>* ready);
  E construct_weak(const ast::Expr& call, const Type* expected);

 private:
  E construct_alias(NominalSymbol& symbol, const ast::Expr& call, const Type* expected);
};

}  // namespace dhpvm::compiler
