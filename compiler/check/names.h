// SPDX-License-Identifier: Apache-2.0
// Resolves names: variables, members without `this.`, functions, constants.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class NameChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E read_variable(Variable* variable, Range range);
  E this_value(Range range);
  bool this_has_field(std::string_view name);
  Method this_method(std::string_view name);
  E name_expr(const ast::Expr& expr, const Type* expected);
  E function_value(FunctionSymbol& symbol, const ast::Expr& expr, const Type* expected);
  hir::Function* caller_of(FunctionInstance& instance, const Type* result, Range range);
  E constant_value(ConstantSymbol& symbol, Range range);
  // `value`, whose elements are only read. A constant array is made once for the whole function.
  E shared_constant(E value);
  // The same for `value` itself, or for the constant array of arrays if `value` is a row of one.
  E shared_rows(E value);
  // `rows`, a constant array of arrays of one length, as a matrix for the parallel loops of the function, which cannot
  // use references; null if it is not such an array, or if loops cannot use its elements.
  E shared_matrix(E rows);
  void report_unknown(std::string_view name, Range range, bool called);
  ModuleSymbols* module_named(const ast::Expr& expr);
  const Type* primitive_named(const ast::Expr& expr);
  // All names in scope, for suggestions.
  std::vector<std::string> visible_names();
};

}  // namespace dhpvm::compiler
