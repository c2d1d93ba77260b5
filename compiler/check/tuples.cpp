// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/tuples.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* TupleChecker::tuple_expr(const ast::Expr& expr, const Type* expected) {
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  const bool known = expected != nullptr && analysis_.tuples().is_tuple(expected) &&
                     expected->fields.size() == expr.operands.size();
  std::vector<E> values;
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < expr.operands.size(); ++i) {
    const ast::Expr& operand = *expr.operands[i];
    const Type* wanted = known ? expected->fields[i].type : nullptr;
    E value =
        wanted != nullptr ? parts_.conversions.value_as(operand, wanted) : parts_.conversions.value(operand);
    if (value->type->is(TypeKind::kNull)) {
      error(operand.range, "the type of `null` alone is unknown")
          .help("write the type of the tuple: `(T?, ...)`");
      value = wrong(operand.range);
    } else if (value->type->is(TypeKind::kNever)) {
      error(operand.range, "this never gives a value").help("write it as a statement");
      value = wrong(operand.range);
    }
    values.push_back(value);
    types.push_back(value->type);
  }
  const Type* type = analysis_.tuples().of(std::move(types), expr.range);
  return type->is(TypeKind::kError) ? wrong(expr.range)
                                    : make(ExprKind::kMakeStruct, type, expr.range, std::move(values));
}

void TupleChecker::declare(const ast::Pattern& pattern, E value, VariableKind kind, Body& out) {
  CheckedPattern checked = parts_.patterns.check(pattern, value->type);
  bool good = checked.kind != CheckedPattern::Kind::kWrong;
  Body before;
  if (good) {
    value = stable(value, before);
    good = parts_.patterns.test(checked, value) == nullptr;
    if (!good)
      error(pattern.range, "this pattern does not fit every '{}'", value->type->name)
          .help("use a `match`, or a name instead of a value");
  }
  if (!good) return parts_.patterns.bind_wrong(pattern);
  out.insert(out.end(), before.begin(), before.end());
  parts_.patterns.bind(checked, value, out, kind);
}

void TupleChecker::assign(const ast::Stmt& stmt, Body& out) {
  const std::vector<ast::Expr*>& places = stmt.place->operands;
  hir::Stmt* whole = analysis_.make(hir::StmtKind::kBlock, stmt.range);
  E value = parts_.conversions.value(*stmt.value);
  if (value->type->is(TypeKind::kError)) return;
  if (!analysis_.tuples().expect(value->type, places.size(), stmt.place->range)) return;
  hir::Local* copy = temporary(value->type);
  whole->body.push_back(let(copy, value));
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const Range range = places[i]->range;
    const auto part = [&](const Type*) { return parts_.members.field(read(copy, range), i, range); };
    parts_.assignment.assign_to(*places[i], part, range, whole->body);
  }
  out.push_back(whole);
}

}  // namespace dhpvm::compiler
