// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/assign.h"

#include <algorithm>

#include "base/spelling.h"
#include "compiler/check/body_parts.h"
#include "compiler/check/entry_methods.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

// Whether an assignment to `name` is more likely a declaration than a misspelling.
bool resembles_none(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::find(views.begin(), views.end(), name) == views.end() && nearest_name(name, views).empty();
}

bool never_traps(Binary op) { return op != Binary::kDiv && op != Binary::kRem; }
bool is_shift(Binary op) { return op == Binary::kShl || op == Binary::kShr; }

}  // namespace

bool AssignmentChecker::check_assignable(const Variable& variable, Range range) {
  if (state_.in_kernel() && variable.frame != state_.frame) {
    Diagnostic& diagnostic =
        error(range, "a parallel loop cannot assign '{}', which is declared outside of it", variable.name);
    diagnostic.note(variable.range, "'{}' is declared here", variable.name);
    if (variable.type->is_primitive()) {
      diagnostic.help("combine it with `reduce(+: {})`, or write to an element of an array", variable.name);
    }
    return false;
  }
  switch (variable.kind) {
    case VariableKind::kVar: return true;
    case VariableKind::kLet:
      error(range, "'{}' cannot be assigned: it is a `let`", variable.name)
          .note(variable.range, "'{}' is declared here", variable.name)
          .help("declare it with `var`");
      return false;
    case VariableKind::kParameter:
      error(range, "'{}' cannot be assigned: it is a parameter", variable.name)
          .note(variable.range, "'{}' is declared here", variable.name)
          .help("copy it first: `var {} = {};`", variable.name, variable.name);
      return false;
    case VariableKind::kLoop:
      error(range, "'{}' cannot be assigned: it is the variable of a loop", variable.name)
          .note(variable.range, "'{}' is declared here", variable.name)
          .help(
              "to change an element, assign `a[i]`, as in `for i, x in a {{ a[i].f = ...; }}`; to count "
              "otherwise, "
              "use a `while` loop");
      return false;
    case VariableKind::kThis: error(range, "`this` cannot be assigned"); return false;
    case VariableKind::kReduction:
      error(range, "the reduction variable '{}' can only be updated by its own operation", variable.name)
          .note(variable.range, "the reduction is declared here");
      return false;
  }
  return false;
}

// Whether a field of the struct `place` may be assigned: whether the variable or object that contains the struct may
// change.
bool AssignmentChecker::mutable_root(const hir::Expr& place, Range range) {
  switch (place.kind) {
    case ExprKind::kIndex: return true;
    case ExprKind::kFixedIndex:
    case ExprKind::kLocal:
      for (const Variable& variable : state_.variables) {
        if (variable.local != place.local) continue;
        // A fixed array that is a parameter is the caller's.
        if (variable.type->is(TypeKind::kFixedArray) && variable.kind == VariableKind::kParameter)
          return true;
        if (variable.kind == VariableKind::kThis) {
          error(range, "methods of a struct see a copy of it: this assignment would be lost")
              .help("give back a changed copy, or make '{}' a class", variable.type->name);
          return false;
        }
        return check_assignable(variable, range);
      }
      return true;
    case ExprKind::kField: {
      const hir::Expr& object = *place.operands[0];
      if (object.type->is(TypeKind::kStruct)) return mutable_root(object, range);
      return check_field(object.type, place.index, range);
    }
    default:
      error(range, "this changes a copy, which is lost").help("put it into a variable first: `var x = ...;`");
      return false;
  }
}

bool AssignmentChecker::check_field(const Type* type, std::uint32_t index, Range range) {
  const FieldInfo& field = type->fields[index];
  if (!field.immutable) return true;
  error(range, "'{}' cannot be assigned: it is a `let` field", field.name)
      .note(analysis_.nominal(type)->symbol->declaration->fields[index].range, "'{}' is declared here",
            field.name)
      .help("set it in `init`, or declare it without `let`");
  return false;
}

AssignmentChecker::Place AssignmentChecker::place(const ast::Expr& expr, PlaceUse use) {
  Place place;
  const Range range = expr.range;
  switch (expr.kind) {
    case ast::ExprKind::kError: return place;
    case ast::ExprKind::kName: {
      if (expr.name.empty()) return place;
      Variable* variable = parts_.scopes.find_variable(expr.name.text);
      if (variable == nullptr && parts_.names.this_has_field(expr.name.text)) {
        return field_place(parts_.names.this_value(range), expr.name, range, use);
      }
      if (variable == nullptr && resembles_none(expr.name.text, parts_.names.visible_names())) {
        error(range, "no variable '{}' here", expr.name.text)
            .help("declare it: `let {} = ...;`, or `var {} = ...;` if it changes", expr.name.text,
                  expr.name.text);
        parts_.scopes.declare_hidden(expr.name.text, error_type(), VariableKind::kVar, range);
        return place;
      }
      if (variable == nullptr) {
        if (parts_.names.name_expr(expr, nullptr)->type->is(TypeKind::kError))
          return place;  // unknown: reported
        error(range, "'{}' cannot be assigned", expr.name.text);
        return place;
      }
      if (variable->type->is(TypeKind::kError) || !check_assignable(*variable, range)) return place;
      if (variable->type->is(TypeKind::kFixedArray)) {
        error(range, "a fixed array cannot be assigned whole")
            .help("assign its elements: `{}[i] = ...;`", variable->name);
        return place;
      }
      place.variable = parts_.scopes.see(variable, range);
      if (place.variable != nullptr) place.expr = read(place.variable->local, range);
      return place;
    }
    case ast::ExprKind::kMember: return member_place(expr, use);
    case ast::ExprKind::kIndex: return index_place(expr, use);
    default: break;
  }
  if (parts_.expressions.expr(expr)->type->is(TypeKind::kError)) return place;
  error(range, "this cannot be assigned").help("assign a variable, a field or an element of an array");
  return place;
}

AssignmentChecker::Place AssignmentChecker::member_place(const ast::Expr& expr, PlaceUse use) {
  const ast::Expr& object_expr = *expr.operands[0];
  if (ModuleSymbols* module = parts_.names.module_named(object_expr); module != nullptr) {
    error(expr.range, "'{}' belongs to a module and cannot be assigned", expr.name.text)
        .help("modules have functions, types and constants, and no variables");
    return {};
  }
  std::optional<Copy> copy;
  E object = holder(object_expr, copy);
  Place place = field_place(object, expr.name, expr.range, use);
  place.copy = std::move(copy);
  return place;
}

// The object whose field is assigned. If it is a struct that methods of a container return, or part of one, the result
// is a copy that is written back.
hir::Expr* AssignmentChecker::holder(const ast::Expr& expr, std::optional<Copy>& copy) {
  const ast::Expr* root = &expr;
  while (root->kind == ast::ExprKind::kMember && !root->safe) root = root->operands[0];
  if (root->kind != ast::ExprKind::kIndex) return parts_.members.receiver(expr);
  if (expr.kind == ast::ExprKind::kMember)
    return parts_.members.member_of(holder(*expr.operands[0], copy), expr);
  E container = parts_.conversions.operand_value(*expr.operands[0]);
  if (is_constant(container, expr.range)) return wrong(expr.range);
  if (parts_.kernel_captures.refuses_write(*container, expr.range)) return wrong(expr.range);
  if (!parts_.elements.may_define(container->type)) return parts_.arrays.index_of(container, expr);
  Copy made;
  made.element = parts_.elements.to_read(container, expr);
  if (made.element.object == nullptr) return wrong(expr.range);
  E given = parts_.elements.read(made.element);
  if (!given->type->is(TypeKind::kStruct) || analysis_.errors().is_result(given->type)) return given;
  if (!parts_.elements.to_update(made.element, made.before)) return wrong(expr.range);
  made.local = temporary(given->type);
  copy = std::move(made);
  return read(copy->local, expr.range);
}

// Whether `array` is a constant, whose elements cannot be assigned; reports an error then.
bool AssignmentChecker::is_constant(E array, Range range) {
  while (array->kind == ExprKind::kIndex) array = array->operands[0];
  if (analysis_.constants().array_of(*array) == nullptr) return false;
  error(range, "a constant cannot be changed").help("change a copy of it: `let copy = ...;`");
  return true;
}

AssignmentChecker::Place AssignmentChecker::index_place(const ast::Expr& expr, PlaceUse use) {
  Place place;
  const ast::Expr& array_expr = *expr.operands[0];
  E array = parts_.conversions.operand_value(array_expr);
  if (is_constant(array, expr.range)) return place;
  if (array->type->is(TypeKind::kStr)) {
    error(expr.range, "a str cannot be changed").help("build a new one, or use an array of bytes: `[u8]`");
    return place;
  }
  if (parts_.elements.may_define(array->type)) {
    const bool updated = use == PlaceUse::kUpdated;
    Element element = updated ? parts_.elements.to_read(array, expr) : parts_.elements.to_assign(array, expr);
    if (element.object == nullptr) return place;
    if (!updated || parts_.elements.to_update(element, place.before)) place.element = std::move(element);
    return place;
  }
  if (parts_.kernel_captures.refuses_write(*array, expr.range)) return place;
  E element = parts_.arrays.index_of(array, expr);
  if (element->type->is(TypeKind::kError)) return place;
  if (element->kind == ExprKind::kFixedIndex && !mutable_root(*array, expr.range)) return place;
  place.expr = element;
  return place;
}

AssignmentChecker::Place AssignmentChecker::field_place(E object, const ast::Name& name, Range range,
                                                        PlaceUse use) {
  Place place;
  const Range object_range = analysis_.range_of(object);
  const Type* type = object->type;
  if (type->is(TypeKind::kError) || name.empty()) return place;
  std::uint32_t index = 0;
  if (!(type->is(TypeKind::kStruct) || type->is(TypeKind::kClass)) ||
      analysis_.find_field(type, name.text, index) == nullptr) {
    if (type->is(TypeKind::kNullable)) {
      const bool is_object = type->element->is(TypeKind::kClass);
      parts_.narrowing.explain_null(
          error(name.range, "this '{}' may be null", type->name), object_range,
          fmt::format("{}trap on null: `!.{}`", is_object ? fmt::format("write `?.{}`, or ", name.text) : "",
                      name.text));
    } else if ((type->is(TypeKind::kArray) || type->is(TypeKind::kFixedArray) || type->is(TypeKind::kStr)) &&
               name.text == "len") {
      error(range, "'len' of '{}' cannot be assigned", type->name)
          .help("make a new array of the length, and copy the elements");
    } else {
      parts_.members.report_missing_member(type, name, false);
    }
    return place;
  }
  if (state_.in_kernel() && type->is(TypeKind::kClass)) {
    error(range, "a parallel loop cannot assign fields of objects").help("write to an element of an array");
    return place;
  }
  const bool own =
      state_.in_init_frame() && object->kind == ExprKind::kLocal && object->local->name == "this";
  if (type->is(TypeKind::kStruct)) {
    if (!mutable_root(*object, range)) return place;
    if (!check_field(type, index, range)) return place;
  } else if (!own && !check_field(type, index, range)) {
    return place;
  }
  if (own && use == PlaceUse::kAssigned) {
    place.init_field = index;
    place.expr = make(ExprKind::kField, type->fields[index].type, range, {object});
    place.expr->index = index;
    return place;
  }
  place.expr = parts_.members.field(object, index, range);
  if (place.expr->type->is(TypeKind::kError)) place.expr = nullptr;
  return place;
}

void AssignmentChecker::assign_stmt(const ast::Stmt& stmt, Body& out) {
  if (parts_.reductions.reduction_assign(stmt, out)) return;
  if (stmt.place->kind == ast::ExprKind::kTuple) return parts_.tuples.assign(stmt, out);
  const auto given = [&](const Type* type) { return parts_.conversions.value(*stmt.value, type); };
  assign_to(*stmt.place, given, stmt.value->range, out);
}

// Calls `change` for the assigned place. `a?.b = v` assigns, and evaluates v, only if a is not null.
void AssignmentChecker::at_place(const ast::Expr& where, PlaceUse use,
                                 const std::function<void(Place&, Body&)>& change, Body& out) {
  if (where.kind != ast::ExprKind::kMember || !where.safe) {
    Place target = place(where, use);
    return change(target, out);
  }
  const Range range = where.range;
  E object = parts_.conversions.value(*where.operands[0]);
  const Type* type = object->type;
  const bool is_nullable = type->is(TypeKind::kNullable);
  const Type* held = is_nullable ? type->element : type;
  Place target;
  if (!held->is(TypeKind::kClass) || (!is_nullable && object->kind != ExprKind::kUnwrap)) {
    if (!is_nullable && !type->is(TypeKind::kError)) {
      error(where.name.range, "a '{}' is never null", type->name).help("write `.{}`", where.name.text);
    } else if (is_nullable && !held->is(TypeKind::kStruct)) {
      // Reports the missing field.
      target = field_place(make(ExprKind::kUnwrap, held, range, {object}), where.name, range, use);
    } else if (is_nullable) {
      error(range, "`?.` assigns fields of objects, and not of a copy of a '{}'", held->name)
          .help("test for null first, change a copy, and put it back");
    }
    return change(target, out);
  }
  if (!is_nullable) {  // known by narrowing
    target = field_place(object, where.name, range, use);
    return change(target, out);
  }
  hir::Stmt* whole = analysis_.make(StmtKind::kBlock, range);
  hir::Local* const local = keep(object, whole->body);
  hir::Stmt* test = analysis_.make(StmtKind::kIf, range);
  test->value = negate_bool(make(ExprKind::kIsNull, basic(TypeKind::kBool), range, {read(local, range)}));
  const Flow before = state_.flow;
  target = field_place(make(ExprKind::kUnwrap, held, range, {read(local, range)}), where.name, range, use);
  change(target, test->body);
  state_.flow = Narrowing::merge(before, state_.flow);
  whole->body.push_back(test);
  out.push_back(whole);
}

// `given` returns the value for a place of the given type, or of unknown type if that is null.
void AssignmentChecker::assign_to(const ast::Expr& where, const std::function<E(const Type*)>& given,
                                  Range value_range, Body& out) {
  const auto assigned = [&](Place& target, Body& body) {
    assign_place(target, given, value_range, join(where.range, value_range), body);
  };
  at_place(where, PlaceUse::kAssigned, assigned, out);
}

void AssignmentChecker::assign_place(Place& target, const std::function<E(const Type*)>& given,
                                     Range value_range, Range range, Body& out) {
  if (target.element.has_value()) {
    const Type* type = parts_.elements.assigned_type(*target.element);
    E value = parts_.conversions.coerce(given(type), type, value_range);
    if (value->type->is(TypeKind::kError)) return;
    E call = parts_.elements.write(*target.element, value, range);
    if (!call->type->is(TypeKind::kError)) out.push_back(evaluate(call));
    return;
  }
  if (target.expr == nullptr) {
    given(nullptr);
    return;
  }
  E value = given(target.expr->type);
  const Type* given_type = value->type;
  value = parts_.conversions.coerce(value, target.expr->type, value_range);
  if (target.variable != nullptr) parts_.narrowing.assigned(target.variable, given_type);
  if (target.init_field >= 0) state_.flow.unassigned.erase(static_cast<std::uint32_t>(target.init_field));
  if (value->type->is(TypeKind::kError)) return;
  if (target.copy.has_value())
    return change_copy(target, value, [](E changed) { return changed; }, range, out);
  parts_.field_narrowing.assigned(*target.expr);
  out.push_back(assign(target.expr, value, range));
}

// The operand is evaluated first: its evaluation may change other fields of the element.
void AssignmentChecker::change_copy(Place& target, E operand, const std::function<E(E)>& changed, Range range,
                                    Body& out) {
  Copy& copy = *target.copy;
  hir::Stmt* made = analysis_.make(StmtKind::kBlock, range);
  made->body = std::move(copy.before);
  operand = stable(operand, made->body);
  made->body.push_back(let(copy.local, parts_.elements.read(copy.element)));
  made->body.push_back(assign(target.expr, changed(operand), range));
  E call = parts_.elements.write(copy.element, read(copy.local, range), range);
  if (call->type->is(TypeKind::kError)) return;
  made->body.push_back(evaluate(call));
  out.push_back(made);
}

// The same place with operands that can be evaluated twice.
hir::Expr* AssignmentChecker::stable_place(E place, Body& before) {
  switch (place->kind) {
    case ExprKind::kField: {
      E object = place->operands[0];
      object = object->type->is(TypeKind::kStruct) ? stable_place(object, before) : stable(object, before);
      E made = make(ExprKind::kField, place->type, analysis_.range_of(place), {object});
      made->index = place->index;
      return made;
    }
    case ExprKind::kIndex:
    case ExprKind::kFixedIndex: {
      std::vector<E> operands;
      for (E operand : place->operands) operands.push_back(stable(operand, before));
      E made = make(place->kind, place->type, analysis_.range_of(place), std::move(operands));
      made->local = place->local;
      return made;
    }
    default: return place;
  }
}

// The right side of `left op= value`, converted to combine with the left; null after a diagnostic.
hir::Expr* AssignmentChecker::update_operand(E left, const ast::Stmt& stmt) {
  const bool shift = is_shift(binary_of(stmt.binary));
  const Type* type = parts_.operators.right_type(binary_of(stmt.binary), left->type);
  E right = parts_.conversions.value(*stmt.value, shift ? nullptr : type);
  if (right->type->is(TypeKind::kError)) return nullptr;
  if (!shift) return combined(left, right, stmt)->type->is(TypeKind::kError) ? nullptr : right;
  if (left->type->is_integer() && right->type->is_integer()) return right;
  error(stmt.range, "shifts are for integers, not '{}' by '{}'", left->type->name, right->type->name);
  return nullptr;
}

hir::Expr* AssignmentChecker::combined(E left, E right, const ast::Stmt& stmt) {
  const Binary op = binary_of(stmt.binary);
  return is_shift(op) ? binary(op, left, right, stmt.range)
                      : parts_.operators.arithmetic_on(op, left, right, stmt.range, stmt.range);
}

// Uses one search if the type has entries and the operation never traps: otherwise a trap would leave a new element
// behind. The operand is evaluated first, because its evaluation may change the entries.
void AssignmentChecker::update_element(const ast::Stmt& stmt, Place& target, Body& out) {
  const Element& element = *target.element;
  const Type* type = parts_.elements.assigned_type(element);
  EntryMethods entries(parts_);
  E found = never_traps(binary_of(stmt.binary)) ? entries.find(element, type) : nullptr;
  hir::Local* entry = found == nullptr ? nullptr : temporary(found->type);
  E left = entry == nullptr ? parts_.elements.read_for_update(element) : entries.read(element, entry);
  E right = update_operand(left, stmt);
  if (right == nullptr) return;
  hir::Stmt* made = analysis_.make(StmtKind::kBlock, stmt.range);
  made->body = std::move(target.before);
  if (entry != nullptr) right = stable(right, made->body);
  E result = parts_.conversions.coerce(combined(left, right, stmt), type, stmt.range);
  E call = entry == nullptr ? parts_.elements.write(element, result, stmt.range)
                            : entries.write(element, entry, result, stmt.range);
  if (result->type->is(TypeKind::kError) || call->type->is(TypeKind::kError)) return;
  if (entry != nullptr) made->body.push_back(let(entry, found));
  made->body.push_back(evaluate(call));
  out.push_back(made);
}

void AssignmentChecker::update_stmt(const ast::Stmt& stmt, Body& out) {
  if (parts_.reductions.reduction_assign(stmt, out)) return;
  const auto updated = [&](Place& target, Body& body) { update_place(stmt, target, body); };
  at_place(*stmt.place, PlaceUse::kUpdated, updated, out);
}

void AssignmentChecker::update_place(const ast::Stmt& stmt, Place& target, Body& out) {
  if (target.element.has_value()) return update_element(stmt, target, out);
  if (target.expr == nullptr) {
    parts_.conversions.value(*stmt.value);
    return;
  }
  // A narrowed variable is updated with its narrowed type.
  E left = target.expr;
  if (target.variable != nullptr) left = parts_.names.read_variable(target.variable, stmt.place->range);
  E right = update_operand(left, stmt);
  if (right == nullptr) return;
  if (target.copy.has_value()) {
    const auto changed = [&](E operand) { return combined(left, operand, stmt); };
    return change_copy(target, right, changed, stmt.range, out);
  }
  if (left->type == target.expr->type && left->type->is_primitive()) {
    hir::Stmt* made = analysis_.make(StmtKind::kUpdate, stmt.range);
    made->place = target.expr;
    made->value = right;
    made->binary = binary_of(stmt.binary);
    out.push_back(made);
    return;
  }
  Body before;
  E place = target.expr;
  if (target.variable == nullptr) left = place = stable_place(place, before);
  E result = combined(left, right, stmt);
  const Type* result_type = result->type;
  parts_.field_narrowing.assigned(*place);
  before.push_back(assign(place, parts_.conversions.coerce(result, place->type, stmt.range), stmt.range));
  if (target.variable != nullptr) parts_.narrowing.assigned(target.variable, result_type);
  hir::Stmt* made = analysis_.make(StmtKind::kBlock, stmt.range);
  made->body = std::move(before);
  out.push_back(made);
}

}  // namespace dhpvm::compiler
