// SPDX-License-Identifier: Apache-2.0
// Receives types while the checker runs: for editors, which ask about types that the checked program does not keep.
#pragma once

#include "compiler/hir/types.h"
#include "compiler/parse/ast.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

// Generic code is checked, and reported, once for each instance. Wrong expressions have the error type.
class Observer {
 public:
  virtual ~Observer() = default;

  // An expression, or a conversion that the checker adds to it: the first report of a range is the expression itself.
  virtual void on_expression(SourceRange range, const Type* type) = 0;
  // A variable; `name` is its name in the declaration.
  virtual void on_variable(SourceRange name, const Type* type) = 0;
  // The instance of a declared type.
  virtual void on_type(const Type* type, const ast::TypeDecl& declaration) = 0;
};

}  // namespace dhpvm::compiler
