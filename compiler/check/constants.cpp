// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/constants.h"

#include <algorithm>

#include "compiler/check/analysis.h"
#include "compiler/check/body.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

const hir::Expr* Constants::evaluate(const hir::Expr& expr) {
  const auto value = fold(expr);
  if (!value) return nullptr;
  hir::Expr* result = analysis_.make(value->kind, value->type, analysis_.range_of(&expr));
  result->integer = value->integer;
  result->number = value->number;
  result->text = value->text;
  return result;
}

const hir::Expr* Constants::expression(const ast::Expr& expr, const TypeContext& context,
                                       const Type* expected, std::string_view what) {
  const hir::Expr* checked = check_expression(analysis_, expr, context, expected, what);
  if (checked->type->is(TypeKind::kError)) return nullptr;
  const hir::Expr* value = evaluate(*checked);
  if (value == nullptr) {
    analysis_.error(expr.range, "{} must be constant", what)
        .help("use literals, constants, and arithmetic on them");
  }
  return value;
}

// Whether the expression has no effects and the same value each time, so that each use of a constant can evaluate it
// again. The library's functions behind `str.` have no effects.
bool Constants::is_made_alike(const hir::Expr& expr) const {
  const auto all_alike = [&](const std::vector<hir::Expr*>& operands) {
    return std::ranges::all_of(operands, [&](const hir::Expr* operand) { return is_made_alike(*operand); });
  };
  if (fold(expr).has_value()) return true;
  switch (expr.kind) {
    case hir::ExprKind::kZero:
    case hir::ExprKind::kNull:
    case hir::ExprKind::kLocal: return true;
    case hir::ExprKind::kBinary: {
      const bool may_trap = expr.binary == hir::Binary::kDiv || expr.binary == hir::Binary::kRem;
      return (!may_trap || expr.type->is_float()) && all_alike(expr.operands);
    }
    case hir::ExprKind::kUnary:
    case hir::ExprKind::kConvert:
    case hir::ExprKind::kAnd:
    case hir::ExprKind::kOr:
    case hir::ExprKind::kMakeStruct:
    case hir::ExprKind::kArrayLiteral:
    case hir::ExprKind::kWrap:
    case hir::ExprKind::kField:
    case hir::ExprKind::kConditional:
    case hir::ExprKind::kStringConcat: return all_alike(expr.operands);
    case hir::ExprKind::kNew: return expr.type->is_enum && all_alike(expr.operands);
    case hir::ExprKind::kCallNative: return expr.native->name.starts_with("str.") && all_alike(expr.operands);
    case hir::ExprKind::kCall: return makers_.contains(expr.function);
    case hir::ExprKind::kBlock:
      return all_alike(expr.operands) && std::ranges::all_of(expr.statements, [&](const hir::Stmt* stmt) {
               return stmt->kind == hir::StmtKind::kLet && is_made_alike(*stmt->value);
             });
    default: return false;
  }
}

// Numbers, bool and text, and structs, tuples, enums and nullables of them: values without identity.
bool Constants::is_constant_type(const Type* type) {
  if (type->is(TypeKind::kNullable)) return is_constant_type(type->element);
  if (type->is_enum) return true;
  if (!type->is(TypeKind::kStruct)) return type->is_primitive() || type->is(TypeKind::kStr);
  analysis_.complete(*analysis_.nominal(type));
  return !analysis_.errors().is_result(type) &&
         std::ranges::all_of(type->fields,
                             [&](const FieldInfo& field) { return is_constant_type(field.type); });
}

const hir::Expr* Constants::array_of(const hir::Expr& expr) const {
  if (expr.kind != hir::ExprKind::kCall || !makers_.contains(expr.function)) return nullptr;
  const hir::Expr* value = expr.function->body[0]->value;
  return value->kind == hir::ExprKind::kArrayLiteral ? value : nullptr;
}

hir::Function& Constants::make_maker(const ConstantSymbol& constant, hir::Expr* value) {
  const ast::Constant& declaration = *constant.declaration;
  hir::Program& program = analysis_.program();
  hir::Function& maker = program.function_arena.emplace_back();
  program.functions.push_back(&maker);
  makers_.insert(&maker);
  maker.name =
      (constant.module->name.empty() ? "" : constant.module->name + ".") + std::string(declaration.name.text);
  maker.position = analysis_.position(declaration.name.range);
  maker.result = value->type;
  hir::Stmt* give = analysis_.make(hir::StmtKind::kReturn, declaration.value->range);
  give->value = value;
  maker.body.push_back(give);
  return maker;
}

const hir::Expr* Constants::value_of_declaration(ConstantSymbol& constant, const TypeContext& context,
                                                 const Type* expected) {
  constexpr std::string_view kWhat = "the value of a constant";
  const ast::Constant& declaration = *constant.declaration;
  hir::Expr* checked = check_expression(analysis_, *declaration.value, context, expected, kWhat);
  if (checked->type->is(TypeKind::kError)) return nullptr;
  if (const hir::Expr* value = evaluate(*checked); value != nullptr) return value;
  const Type* plain = checked->type;
  while (plain->is(TypeKind::kArray) && plain->rank == 1) plain = plain->element;
  if (!is_constant_type(plain)) {
    analysis_
        .error(declaration.value->range,
               "a constant is a number, bool or text, a struct, tuple or enum of them, or an array of these "
               "or of "
               "such arrays, not '{}'",
               checked->type->name)
        .help("write a function that makes the value: `fn {}() -> {}`", declaration.name.text,
              checked->type->name);
    return nullptr;
  }
  if (!is_made_alike(*checked)) {
    analysis_.error(declaration.value->range, "{} must be constant", kWhat)
        .help("use literals, constants, arithmetic on them, and structs and texts made of them");
    return nullptr;
  }
  constant.maker = &make_maker(constant, checked);
  return checked;
}

const hir::Expr* Constants::value_of(ConstantSymbol& constant, SourceRange range) {
  if (constant.state == ConstantSymbol::State::kDone) return constant.value;
  const ast::Constant& declaration = *constant.declaration;
  if (analysis_.nesting > Analysis::kMaxNesting / 2) {
    analysis_.error(declaration.name.range,
                    "constant '{}' stands at the end of a chain of constants that is too long",
                    declaration.name.text);
    constant.state = ConstantSymbol::State::kDone;
    return nullptr;
  }
  if (constant.state == ConstantSymbol::State::kBusy) {
    analysis_.error(declaration.name.range, "constant '{}' depends on itself", declaration.name.text)
        .note(range, "it is needed here, to compute its own value");
    constant.state = ConstantSymbol::State::kDone;
    return nullptr;
  }
  constant.state = ConstantSymbol::State::kBusy;
  const Origin none;
  const Analysis::Enter enter(analysis_, none);
  TypeContext context{constant.module, {}};
  const Type* type = declaration.type != nullptr ? analysis_.resolve(declaration.type, context) : nullptr;
  const hir::Expr* value = value_of_declaration(constant, context, type);
  // The cycle has been reported.
  if (constant.state == ConstantSymbol::State::kBusy) {
    constant.value = type != nullptr && type->is(TypeKind::kError) ? nullptr : value;
    constant.state = ConstantSymbol::State::kDone;
  }
  return constant.value;
}

}  // namespace dhpvm::compiler
