// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/reductions.h"

#include <algorithm>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using bytecode::ReductionOp;
using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

// How to write an update of a reduction variable.
std::string update_text(std::string_view name, ReductionOp op) {
  std::string variable(name);
  switch (op) {
    case ReductionOp::kAdd: return variable + " += e";
    case ReductionOp::kMul: return variable + " *= e";
    case ReductionOp::kMin: return variable + " = math.min(" + variable + ", e)";
    case ReductionOp::kMax: return variable + " = math.max(" + variable + ", e)";
    case ReductionOp::kAnd: return variable + " &= e";
    case ReductionOp::kOr: return variable + " |= e";
    case ReductionOp::kXor: return variable + " ^= e";
  }
  return variable;
}

// `counts` of `counts[i].x`.
const ast::Expr& root_of(const ast::Expr& place) {
  const ast::Expr* root = &place;
  while (root->kind == ast::ExprKind::kIndex || (root->kind == ast::ExprKind::kMember && !root->safe))
    root = root->operands[0];
  return *root;
}

}  // namespace

ReductionOp ReductionChecker::operation(ast::ReductionOp op) {
  switch (op) {
    case ast::ReductionOp::kAdd: return ReductionOp::kAdd;
    case ast::ReductionOp::kMul: return ReductionOp::kMul;
    case ast::ReductionOp::kMin: return ReductionOp::kMin;
    case ast::ReductionOp::kMax: return ReductionOp::kMax;
    case ast::ReductionOp::kAnd: return ReductionOp::kAnd;
    case ast::ReductionOp::kOr: return ReductionOp::kOr;
    case ast::ReductionOp::kXor: return ReductionOp::kXor;
    default: return ReductionOp::kAdd;  // the others are folded_values.h's
  }
}

Binary ReductionChecker::binary_of(ReductionOp op) {
  switch (op) {
    case ReductionOp::kAdd: return Binary::kAdd;
    case ReductionOp::kMul: return Binary::kMul;
    case ReductionOp::kMin: return Binary::kMin;
    case ReductionOp::kMax: return Binary::kMax;
    case ReductionOp::kAnd: return Binary::kBitAnd;
    case ReductionOp::kOr: return Binary::kBitOr;
    case ReductionOp::kXor: return Binary::kBitXor;
  }
  return Binary::kAdd;
}

bool ReductionChecker::can_reduce(const Type* type, ReductionOp op) {
  const bool bitwise = op >= ReductionOp::kAnd;
  return bitwise ? type->is_integer() || type->is(TypeKind::kBool) : type->is_number();
}

// The variable that a loop in the current frame reduces; null after a diagnostic.
Variable* ReductionChecker::outer_variable(const ast::Reduction& reduction) {
  const ast::Name& name = reduction.variable;
  Variable* outer = parts_.scopes.find_variable(name.text);
  if (outer == nullptr) {
    if (parts_.names.this_has_field(name.text)) {
      error(name.range, "a reduction variable must be a local `var`, and '{}' is a field", name.text)
          .help("use a local, and assign the field after the loop");
    } else if (state_.context.module->constants.contains(name.text)) {
      error(name.range, "a reduction variable must be a local `var`, and '{}' is a constant", name.text)
          .help("declare one before the loop: `var own = {};`", name.text);
    } else {
      parts_.names.report_unknown(name.text, name.range, false);
    }
    return nullptr;
  }
  if (outer->type->is(TypeKind::kArray)) {
    Diagnostic& diagnostic =
        error(name.range, "'{}' cannot be reduced as a whole: it is a '{}'", name.text, outer->type->name);
    if (reduction.op < ast::ReductionOp::kFirst) {
      diagnostic.help("write `reduce({}: {}[])` to reduce its elements", ast::to_string(reduction.op),
                      name.text);
    }
    return nullptr;
  }
  if (outer->kind == VariableKind::kReduction || !parts_.assignment.check_assignable(*outer, name.range))
    return nullptr;
  return parts_.scopes.see(outer, name.range);
}

void ReductionChecker::parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& kernel) {
  for (const ast::Reduction& reduction : stmt.parallel->reductions) {
    const ast::Name& name = reduction.variable;
    if (name.empty() || reduction.of_elements || reduction.op >= ast::ReductionOp::kFirst) continue;
    state_.frame = kernel.outer;
    Variable* outer = outer_variable(reduction);
    state_.frame = &kernel;
    const ReductionOp op = operation(reduction.op);
    const Type* type = outer != nullptr ? outer->type : error_type();
    if (outer != nullptr && !can_reduce(type, op)) {
      error(name.range, "'{}' cannot be reduced with '{}': it is a '{}'", name.text,
            ast::to_string(reduction.op), type->name);
      outer = nullptr;
    }
    bool twice = false;
    for (const auto& known : loop.reductions)
      twice = twice || (outer != nullptr && known.outer == outer->local);
    if (twice) {
      error(name.range, "'{}' is reduced twice", name.text);
      continue;
    }
    Variable* inner =
        parts_.scopes.declare(name, outer != nullptr ? type : error_type(), VariableKind::kReduction);
    if (outer != nullptr) loop.reductions.push_back({op, outer->local, inner->local});
  }
}

// `s += e`, `s = math.min(s, e)` and so on, where s is a reduction variable or an element of a reduced array. False for
// any other statement.
bool ReductionChecker::reduction_assign(const ast::Stmt& stmt, Body& out) {
  if (!state_.in_kernel()) return false;
  const ast::Expr& root = root_of(*stmt.place);
  if (root.kind != ast::ExprKind::kName) return false;
  Variable* variable = parts_.scopes.find_variable(root.name.text);
  if (variable == nullptr || variable->kind != VariableKind::kReduction || variable->frame != state_.frame)
    return false;
  const bool whole = &root == stmt.place;
  if (const ReducedArray* array = reduced_array(root); array != nullptr) {
    if (!whole) {
      update_element(stmt, *array, out);
      return true;
    }
    error(stmt.range, "a loop that reduces into '{}' updates its elements, not '{}' itself", array->name,
          array->name)
        .help("write `{};`", update_text(std::string(array->name) + "[i]", array->op));
    return true;
  }
  if (whole && parts_.folded_values.update(stmt, *variable, out)) return true;
  if (!whole && !variable->type->is(TypeKind::kError)) {
    error(stmt.range, "the reduction variable '{}' can only be updated by its own operation", variable->name);
    return true;
  }
  for (const auto& known : state_.frame->loop->reductions) {
    if (known.inner == variable->local) update(stmt, read(variable->local, stmt.place->range), known.op, out);
  }
  return true;
}

void ReductionChecker::update_element(const ast::Stmt& stmt, const ReducedArray& array, Body& out) {
  E place = element_place(*stmt.place, array);
  if (place->type->is(TypeKind::kError)) return;
  if (can_reduce(place->type, array.op)) return update(stmt, place, array.op, out);
  error(stmt.range, "a loop that reduces into '{}' updates numbers in it, not a '{}'", array.name,
        place->type->name)
      .help("update the fields one by one");
}

void ReductionChecker::update(const ast::Stmt& stmt, E place, ReductionOp op, Body& out) {
  const ast::Expr* given = operand(stmt, op);
  if (given == nullptr) {
    const std::string_view text = analysis_.diagnostics().sources().text(stmt.place->range);
    error(stmt.range, "the reduction variable '{}' can only be updated by its own operation", text)
        .help("write `{};`", update_text(text, op));
    return;
  }
  hir::Stmt* made = analysis_.make(StmtKind::kUpdate, stmt.range);
  made->place = place;
  made->value = parts_.conversions.value_as(*given, place->type);
  made->binary = binary_of(op);
  if (stmt.kind == ast::StmtKind::kUpdate && stmt.binary == ast::BinaryOp::kSub) {
    // s - e and s + (-e) have the same bits.
    made->value = make(ExprKind::kUnary, made->value->type, given->range, {made->value});
    made->value->unary = hir::Unary::kNegate;
  }
  if (!made->value->type->is(TypeKind::kError)) out.push_back(made);
}

// The e of an assignment that updates by `op`; null for any other.
const ast::Expr* ReductionChecker::operand(const ast::Stmt& stmt, ReductionOp op) {
  if (stmt.kind == ast::StmtKind::kUpdate) {
    const bool adds = stmt.binary == ast::BinaryOp::kAdd || stmt.binary == ast::BinaryOp::kSub;
    const bool matches = (op == ReductionOp::kAdd && adds) ||
                         (op == ReductionOp::kMul && stmt.binary == ast::BinaryOp::kMul) ||
                         (op == ReductionOp::kAnd && stmt.binary == ast::BinaryOp::kBitAnd) ||
                         (op == ReductionOp::kOr && stmt.binary == ast::BinaryOp::kBitOr) ||
                         (op == ReductionOp::kXor && stmt.binary == ast::BinaryOp::kBitXor);
    return matches ? stmt.value : nullptr;
  }
  return stmt.value->kind == ast::ExprKind::kCall ? min_max_argument(*stmt.value, *stmt.place, op) : nullptr;
}

// The e of `math.min(s, e)`, or of `math.min(e, s)`, where s is `place`; null for any other call.
const ast::Expr* ReductionChecker::min_max_argument(const ast::Expr& call, const ast::Expr& place,
                                                    ReductionOp op) {
  if (op != ReductionOp::kMin && op != ReductionOp::kMax) return nullptr;
  const std::string_view wanted = op == ReductionOp::kMin ? "min" : "max";
  const ast::Expr& callee = *call.operands[0];
  if (callee.kind != ast::ExprKind::kMember || callee.safe || callee.name.text != wanted) return nullptr;
  const ModuleSymbols* module = parts_.names.module_named(*callee.operands[0]);
  if (module == nullptr || module->name != "math" || call.arguments.size() != 2) return nullptr;
  // Within one statement, equal source text has equal values.
  const auto text = [&](const ast::Expr& expr) { return analysis_.diagnostics().sources().text(expr.range); };
  for (std::size_t i = 0; i < 2; ++i) {
    if (text(*call.arguments[i].value) == text(place)) return call.arguments[1 - i].value;
  }
  return nullptr;
}

// The reduced array that `expr` names; null if it is not one.
const ReducedArray* ReductionChecker::reduced_array(const ast::Expr& expr) {
  if (!state_.in_kernel() || expr.kind != ast::ExprKind::kName) return nullptr;
  const Variable* variable = parts_.scopes.find_variable(expr.name.text);
  const auto& arrays = state_.frame->blocks.arrays;
  const auto known = std::ranges::find(arrays, variable, &ReducedArray::variable);
  return variable == nullptr || known == arrays.end() ? nullptr : &*known;
}

// `counts[i]` or `counts[i].x`, in the block's own copy.
hir::Expr* ReductionChecker::element_place(const ast::Expr& place, const ReducedArray& array) {
  if (place.kind == ast::ExprKind::kMember)
    return parts_.members.member_of(element_place(*place.operands[0], array), place);
  const Range range = place.operands[0]->range;
  E element = parts_.arrays.index_of(read(array.array, range), place);
  if (element->type->is(TypeKind::kError)) return element;
  element->operands[0] = read(array.variable->local, range);
  element->operands.insert(element->operands.begin() + 1, read(state_.frame->blocks.number, range));
  return element;
}

}  // namespace dhpvm::compiler
