// SPDX-License-Identifier: Apache-2.0
// Constants: declarations, and the places of the language that demand a constant expression.
#include "compiler/check/analysis.h"
#include "compiler/check/body.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

const hir::Expr* Analysis::evaluate(const hir::Expr& expr) {
  const auto value = fold(expr);
  if (!value) return nullptr;
  hir::Expr* result = make(value->kind, value->type, range_of(&expr));
  result->integer = value->integer;
  result->number = value->number;
  result->text = value->text;
  return result;
}

const hir::Expr* Analysis::constant_expression(const ast::Expr& expr, const TypeContext& context,
                                               const Type* expected, std::string_view what) {
  const hir::Expr* checked = check_expression(*this, expr, context, expected, what);
  if (checked->type->is(TypeKind::kError)) return nullptr;
  const hir::Expr* value = evaluate(*checked);
  if (value == nullptr) {
    error(expr.range, "{} must be constant", what).help("use literals, constants, and arithmetic on them");
  }
  return value;
}

const hir::Expr* Analysis::value_of(ConstantSymbol& constant, SourceRange range) {
  if (constant.state == ConstantSymbol::State::kDone) return constant.value;
  const ast::Constant& declaration = *constant.declaration;
  if (nesting > kMaxNesting / 2) {
    error(declaration.name.range, "constant '{}' stands at the end of a chain of constants that is too long",
          declaration.name.text);
    constant.state = ConstantSymbol::State::kDone;
    return nullptr;
  }
  if (constant.state == ConstantSymbol::State::kBusy) {
    error(declaration.name.range, "constant '{}' depends on itself", declaration.name.text)
        .note(range, "it is needed here, to compute its own value");
    constant.state = ConstantSymbol::State::kDone;
    return nullptr;
  }
  constant.state = ConstantSymbol::State::kBusy;
  const Origin none;
  Enter enter(*this, none);
  TypeContext context{constant.module, {}};
  const Type* type = declaration.type != nullptr ? resolve(declaration.type, context) : nullptr;
  if (type != nullptr && !type->is_primitive() && !type->is(TypeKind::kStr) && !type->is(TypeKind::kError)) {
    error(declaration.type->range, "a constant is a number, bool or str, not '{}'", type->name)
        .help("write a function that makes the value: `fn {}() -> {}`", declaration.name.text, type->name);
    type = basic(TypeKind::kError);
  }
  const hir::Expr* value = constant_expression(*declaration.value, context, type, "the value of a constant");
  // A cycle has been reported, and settled, from within.
  if (constant.state == ConstantSymbol::State::kBusy) {
    constant.value = type != nullptr && type->is(TypeKind::kError) ? nullptr : value;
    constant.state = ConstantSymbol::State::kDone;
  }
  return constant.value;
}

}  // namespace dhpvm::compiler
