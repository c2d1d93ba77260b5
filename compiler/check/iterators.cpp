// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/iterators.h"

#include <algorithm>
#include <string>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::StmtKind;

// Whether the syntax of the call allows a method of a value, rather than a function of a module or a type.
bool IteratorLoops::may_be_method(const ast::Expr& call) {
  if (call.kind != ast::ExprKind::kCall || call.operands[0]->kind != ast::ExprKind::kMember) return false;
  const ast::Expr& callee = *call.operands[0];
  const ast::Expr& object = *callee.operands[0];
  if (callee.safe || parts_.names.module_named(object) != nullptr || parts_.enums.named(object) != nullptr)
    return false;
  return object.kind != ast::ExprKind::kName || parts_.scopes.find_variable(object.name.text) != nullptr ||
         parts_.names.this_has_field(object.name.text);
}

hir::Expr* IteratorLoops::value(const ast::Expr& expr) {
  const auto whole = [&] { return parts_.conversions.operand_value(expr); };
  if (!may_be_method(expr)) return whole();
  const ast::Expr& callee = *expr.operands[0];
  const std::string name = "iterate_" + std::string(callee.name.text);
  const FunctionSymbol* const found = analysis_.library_method(basic(TypeKind::kStr), name);
  if (found == nullptr || found->declaration->parameters.size() != expr.arguments.size() + 1) return whole();
  const auto& parameters = found->declaration->parameters;
  const auto fits = [&](const ast::Argument& argument) {
    return argument.name.empty() || std::ranges::any_of(parameters, [&](const ast::Parameter& parameter) {
             return parameter.name.text == argument.name.text;
           });
  };
  // Errors of the call name the method in the source.
  if (!std::ranges::all_of(expr.arguments, fits)) return whole();
  E object = parts_.members.receiver(*callee.operands[0]);
  if (!object->type->is(TypeKind::kStr)) return parts_.calls.call_method(object, callee, expr, nullptr);
  ast::Expr other = callee;
  other.name.text = name;
  return parts_.calls.call_method(object, other, expr, nullptr);
}

bool IteratorLoops::is_iterator(const Type* type, Range range) {
  if (!type->is(TypeKind::kStruct)) return false;
  const auto takes_none = [&](std::string_view method) {
    const std::vector<const Type*>* parameters = parts_.calls.parameters_of(type, method, range);
    return parameters != nullptr && parameters->empty();
  };
  return takes_none("has_next") && takes_none("next");
}

// while it.has_next() { let step = it.next(); it = step.1; .. } with the element step.0.
IteratorLoops::Loop IteratorLoops::begin(const ast::Stmt& stmt, E iterator) {
  const Range range = stmt.value->range;
  Loop loop;
  loop.whole = analysis_.make(StmtKind::kBlock, stmt.range);
  loop.made = analysis_.make(StmtKind::kWhile, stmt.range);
  hir::Local* state = keep(iterator, loop.whole->body);
  loop.made->value = parts_.calls.invoke(read(state, range), "has_next", {}, range);
  E step = parts_.calls.invoke(read(state, range), "next", {}, range);
  const Type* type = step->type;
  if (Nominal* nominal = analysis_.nominal(type); nominal != nullptr) analysis_.complete(*nominal);
  loop.is_good = type->is(TypeKind::kStruct) && type->fields.size() == 2 &&
                 type->fields[1].type == iterator->type && loop.made->value->type->is(TypeKind::kBool);
  loop.element = wrong(range);
  if (loop.is_good) {
    hir::Local* taken = keep(step, loop.made->body);
    loop.made->body.push_back(
        assign(read(state, range), parts_.members.field(read(taken, range), 1, range), range));
    loop.element = parts_.members.field(read(taken, range), 0, range);
  } else if (!type->is(TypeKind::kError)) {
    error(range, "a '{}' is no iterator", iterator->type->name)
        .help(
            "let `has_next()` give a bool, and `next()` a struct of two fields: the element, and the rest, a "
            "'{}'",
            iterator->type->name);
  }
  return loop;
}

void IteratorLoops::count(const Loop& loop, hir::Local* index, Range range) {
  hir::Local* const position = keep(integer(0, index->type, range), loop.whole->body);
  loop.made->body.push_back(let(index, read(position, range)));
  E next = binary(hir::Binary::kAdd, read(position, range), integer(1, index->type, range), range);
  loop.made->body.push_back(assign(read(position, range), next, range));
}

}  // namespace dhpvm::compiler
