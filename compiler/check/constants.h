// SPDX-License-Identifier: Apache-2.0
// Constants: the values of their declarations, and expressions that must be constant.
#pragma once

#include <set>
#include <string_view>

#include "compiler/check/symbols.h"
#include "compiler/hir/hir.h"
#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

class Analysis;

// The value of a constant is a literal if it is a number, bool or text; otherwise a function makes it, at each use.
class Constants {
 public:
  explicit Constants(Analysis& analysis) : analysis_(analysis) {}

  // Null after a diagnostic.
  const hir::Expr* value_of(ConstantSymbol& constant, SourceRange range);
  // The array literal that `expr` names if it is a constant array; null otherwise.
  const hir::Expr* array_of(const hir::Expr& expr) const;
  // The value of a constant expression; null, without a diagnostic, if it is not constant.
  const hir::Expr* evaluate(const hir::Expr& expr);
  // Checks and evaluates `expr` in `context`; reports when it is not constant.
  const hir::Expr* expression(const ast::Expr& expr, const TypeContext& context, const Type* expected,
                              std::string_view what);

 private:
  const hir::Expr* value_of_declaration(ConstantSymbol& constant, const TypeContext& context,
                                        const Type* expected);
  hir::Function& make_maker(const ConstantSymbol& constant, hir::Expr* value);
  bool is_constant_type(const Type* type);
  bool is_made_alike(const hir::Expr& expr) const;

  Analysis& analysis_;
  std::set<const hir::Function*> makers_;  // functions that make constants
};

}  // namespace dhpvm::compiler
