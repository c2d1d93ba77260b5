// SPDX-License-Identifier: Apache-2.0
// Hears what the checker finds out on its way: for editors, which ask about types where the checked program only keeps
// what is needed to run.
#pragma once

#include "compiler/hir/types.h"
#include "compiler/parse/ast.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

// Generic code is checked once for each instance, and reported as often. Wrong expressions have the error type.
class Observer {
 public:
  virtual ~Observer() = default;

  // An expression, or a part that the checker adds to it: the first report of a range is the expression itself.
  virtual void on_expression(SourceRange range, const Type* type) = 0;
  // A variable, by its name where it is declared.
  virtual void on_variable(SourceRange name, const Type* type) = 0;
  // The instance of a declared type.
  virtual void on_type(const Type* type, const ast::TypeDecl& declaration) = 0;
};

}  // namespace dhpvm::compiler
