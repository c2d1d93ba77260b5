// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/folded_values.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/check/body_parts.h"
#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

std::vector<FoldedValue> FoldedValues::find(const ast::Stmt& stmt) {
  std::vector<FoldedValue> values;
  const std::vector<ast::Reduction>& reductions = stmt.parallel->reductions;
  for (const ast::Reduction& reduction : reductions) {
    if (reduction.op < ast::ReductionOp::kFirst || reduction.variable.empty()) continue;
    FoldedValue value{&reduction};
    const Range range = reduction.op_range;
    if (reduction.of_elements) {
      error(range, "elements of arrays are reduced with + * min max & | ^, not by a function or search");
      continue;
    }
    if (value.is_search() && reductions.size() > 1) {
      error(range, "a loop that searches has no other reduction: it ends at the first hit")
          .help("write two loops");
      continue;
    }
    const Variable* outer = parts_.reductions.outer_variable(reduction);
    if (outer == nullptr || !can_fold(value, *outer)) continue;
    value.outer = outer->local;
    values.push_back(value);
  }
  return values;
}

// `reduce(sum: s)`: the name of an operation in another language, and of no function of the program.
bool FoldedValues::is_other_name(const ast::Reduction& reduction) {
  struct Other {
    std::string_view name;
    ast::ReductionOp op;
  };
  using enum ast::ReductionOp;
  constexpr Other kOthers[] = {{"sum", kAdd},     {"add", kAdd},     {"plus", kAdd},    {"count", kAdd},
                               {"product", kMul}, {"prod", kMul},    {"mul", kMul},     {"times", kMul},
                               {"minimum", kMin}, {"maximum", kMax}, {"all", kAnd},     {"and", kAnd},
                               {"every", kAnd},   {"or", kOr},       {"xor", kXor},     {"some", kAny},
                               {"exists", kAny},  {"find", kFirst},  {"search", kFirst}};
  const ast::Expr& function = *reduction.function;
  if (function.kind != ast::ExprKind::kName) return false;
  const auto other = std::ranges::find(kOthers, function.name.text, &Other::name);
  if (other == std::end(kOthers) || state_.context.module->functions.contains(function.name.text))
    return false;
  error(function.range, "there is no reduction '{}'", other->name)
      .help("write `reduce({}: {})`", ast::to_string(other->op), reduction.variable.text);
  return true;
}

bool FoldedValues::can_fold(FoldedValue& value, const Variable& outer) {
  const Type* type = outer.type;
  const ast::Reduction& reduction = *value.reduction;
  if (type->is(TypeKind::kError)) return false;
  if (reduction.op == ast::ReductionOp::kAny && !type->is(TypeKind::kBool)) {
    error(reduction.variable.range, "`any` finds out whether there is a hit, and '{}' is a '{}'", outer.name,
          type->name)
        .help("write `reduce(first: {})` to know the first one", outer.name);
    return false;
  }
  if (!analysis_.is_plain(type) || !parts_.arrays.has_zero(type)) {
    error(reduction.variable.range, "a parallel loop cannot reduce '{}', a '{}'", outer.name, type->name)
        .help("use a number, bool or struct of these");
    return false;
  }
  if (value.is_search()) return true;
  if (is_other_name(reduction)) return false;
  const Type* wanted = types().function({type, type}, type);
  E function = parts_.conversions.value(*reduction.function, wanted);
  if (function->type->is(TypeKind::kError)) return false;
  if (function->kind != ExprKind::kFunctionValue || function->type != wanted) {
    error(reduction.function->range,
          "'{}' is reduced by a function of two '{}' that gives one, and this is a '{}'", outer.name,
          type->name, function->type->name)
        .help("name a function: `fn combine(a: {}, b: {}) -> {}`", type->name, type->name, type->name);
    return false;
  }
  value.function = function->function;
  return true;
}

void FoldedValues::make_places(Blocks& blocks, Range range, Body& before) {
  const auto array_of = [&](const Type* type, E length) {
    return make(ExprKind::kNewArray, types().array(type, 1), range, {length});
  };
  for (FoldedValue& value : blocks.values) {
    value.values = keep(array_of(value.outer->type, read(blocks.count, range)), before);
    value.has_values = keep(array_of(basic(TypeKind::kBool), read(blocks.count, range)), before);
    if (!value.is_search()) continue;
    const Type* i32 = basic(TypeKind::kI32);
    E none = array_of(i32, integer(1, basic(TypeKind::kI64), range));
    none->operands.push_back(integer(std::numeric_limits<std::int32_t>::max(), i32, range));
    none->has_fill = true;
    value.lowest_hit = keep(none, before);
  }
}

void FoldedValues::declare(const ast::Stmt& stmt, hir::ParallelLoop& loop, Blocks& blocks) {
  for (const ast::Reduction& reduction : stmt.parallel->reductions) {
    if (reduction.op < ast::ReductionOp::kFirst || reduction.variable.empty() || reduction.of_elements)
      continue;
    const auto known = std::ranges::find(blocks.values, &reduction, &FoldedValue::reduction);
    const bool good = known != blocks.values.end();
    const Type* type = good ? known->outer->type : error_type();
    const Variable* variable = parts_.scopes.declare(reduction.variable, type, VariableKind::kReduction);
    if (!good) continue;
    known->variable = variable;
    known->has_value = temporary(basic(TypeKind::kBool));
    for (hir::Local** place : {&known->values, &known->has_values, &known->lowest_hit}) {
      if (*place != nullptr) parts_.kernel_captures.pass(loop, *place, stmt.range);
    }
  }
}

bool FoldedValues::update(const ast::Stmt& stmt, const Variable& variable, Body& out) {
  const std::vector<FoldedValue>& values = state_.frame->blocks.values;
  const auto known = std::ranges::find(values, &variable, &FoldedValue::variable);
  if (known == values.end()) return false;
  const FoldedValue& value = *known;
  if (value.is_search()) {
    if (stmt.kind == ast::StmtKind::kUpdate) {
      error(stmt.range, "a hit assigns '{}', and this changes its value", variable.name)
          .help("write `{} = ...;`", variable.name);
      return true;
    }
    E found = parts_.conversions.value_as(*stmt.value, variable.type);
    if (!found->type->is(TypeKind::kError)) hit(value, found, stmt.range, out);
    return true;
  }
  const ast::Expr* argument = function_argument(stmt, value);
  if (argument == nullptr) {
    const std::string_view function =
        analysis_.diagnostics().sources().text(value.reduction->function->range);
    error(stmt.range, "the reduction variable '{}' can only be updated by its own operation", variable.name)
        .help("write `{} = {}({}, ...);`", variable.name, function, variable.name);
    return true;
  }
  E operand = parts_.conversions.value_as(*argument, variable.type);
  if (!operand->type->is(TypeKind::kError)) combine(value, operand, stmt.range, out);
  return true;
}

// The e of `best = nearer(best, e)`; null for any other statement.
const ast::Expr* FoldedValues::function_argument(const ast::Stmt& stmt, const FoldedValue& value) {
  if (stmt.kind != ast::StmtKind::kAssign || stmt.value->kind != ast::ExprKind::kCall) return nullptr;
  const ast::Expr& call = *stmt.value;
  const auto text = [&](const ast::Expr& expr) { return analysis_.diagnostics().sources().text(expr.range); };
  if (call.arguments.size() != 2 || text(*call.operands[0]) != text(*value.reduction->function))
    return nullptr;
  const bool fits = text(*call.arguments[0].value) == value.variable->name &&
                    call.arguments[0].name.empty() && call.arguments[1].name.empty();
  return fits ? call.arguments[1].value : nullptr;
}

void FoldedValues::combine(const FoldedValue& value, E operand, Range range, Body& out) {
  hir::Local* const given = keep(operand, out);
  hir::Local* const own = value.variable->local;
  E combined = call(value.function, read(own, range), read(given, range), range);
  out.push_back(when(read(value.has_value, range), {assign(read(own, range), combined, range)},
                     {assign(read(own, range), read(given, range), range),
                      assign(read(value.has_value, range), boolean(true, range), range)}));
}

// Stores the hit, and leaves the loops over the iterations of the block. `any` hits only if the value is true.
void FoldedValues::hit(const FoldedValue& value, E found, Range range, Body& out) {
  hir::Stmt* leave = analysis_.make(StmtKind::kBreak, range);
  leave->outwards = state_.frame->loops + static_cast<unsigned>(state_.frame->loop->dimensions.size()) - 1;
  Body statements;
  hir::Local* const own = value.variable->local;
  statements.push_back(assign(read(own, range), found, range));
  Body ends = {assign(read(value.has_value, range), boolean(true, range), range), leave};
  if (value.reduction->op == ast::ReductionOp::kAny) {
    statements.push_back(when(read(own, range), std::move(ends), {}));
  } else {
    statements.insert(statements.end(), ends.begin(), ends.end());
    state_.flow.reachable = false;
  }
  out.insert(out.end(), statements.begin(), statements.end());
}

// After the first hit some iterations run and others do not. purity.cpp checks the functions that it calls later.
void FoldedValues::check_search(const hir::ParallelLoop& loop) {
  const auto refuse = [&](Range range) {
    error(range, "a search cannot write elements: iterations behind the first hit need not run")
        .help("write them in a loop of their own");
  };
  hir::walk(
      loop.body,
      [&](const hir::Expr& expr) {
        if (hir::writes_element(expr)) refuse(analysis_.range_of(&expr));
        return true;
      },
      [&](const hir::Stmt& stmt) {
        if (hir::writes_element(stmt)) refuse(analysis_.range_of(&stmt));
        return true;
      });
}

void FoldedValues::finish(hir::ParallelLoop& loop, const Blocks& blocks, Range range) {
  const Type* i32 = basic(TypeKind::kI32);
  const auto inside = [&](const hir::Local* outer) {
    const auto is_it = [&](const auto& capture) { return capture.value->local == outer; };
    return std::ranges::find_if(loop.captures, is_it)->inner;
  };
  const auto block = [&] { return read(blocks.number, range); };
  const auto atomic = [&](bytecode::Op op, const FoldedValue& value, E operand) {
    E hit = element(inside(value.lowest_hit), integer(0, basic(TypeKind::kI64), range), range);
    E made = make(ExprKind::kAtomic, i32, range, {hit, operand});
    made->op = op;
    return made;
  };
  const auto block_as_i32 = [&] { return make(ExprKind::kConvert, i32, range, {block()}); };
  Body all;
  for (const FoldedValue& value : blocks.values) {
    const Type* type = value.outer->type;
    all.push_back(let(value.variable->local, make(ExprKind::kZero, type, range)));
    all.push_back(let(value.has_value, boolean(false, range)));
    if (!value.is_search()) continue;
    check_search(loop);
    loop.is_search = true;
    // A search has no other reduction: this condition covers the whole loop.
    E lowest = atomic(bytecode::Op::kAtomicAddI32, value, integer(0, i32, range));
    loop.body = {when(binary(Binary::kGe, lowest, block_as_i32(), range), std::move(loop.body), {})};
  }
  all.insert(all.end(), loop.body.begin(), loop.body.end());
  for (const FoldedValue& value : blocks.values) {
    all.push_back(
        assign(element(inside(value.values), block(), range), read(value.variable->local, range), range));
    all.push_back(
        assign(element(inside(value.has_values), block(), range), read(value.has_value, range), range));
    if (!value.is_search()) continue;
    E lower = atomic(bytecode::Op::kAtomicMinI32, value, block_as_i32());
    all.push_back(when(read(value.has_value, range), {evaluate(lower)}, {}));
  }
  loop.body = std::move(all);
}

void FoldedValues::fold(const Blocks& blocks, Range range, Body& out) {
  Body assignments;  // after all calls of functions: if one traps, no variable is half updated
  for (const FoldedValue& value : blocks.values) {
    hir::Local* const whole = keep(read(value.outer, range), out);
    out.push_back(count_loop(read(blocks.count, range), range, [&](E block) {
      E own = element(value.values, block, range);
      Body body;
      if (value.is_search()) {
        body.push_back(assign(read(whole, range), own, range));
        body.push_back(analysis_.make(StmtKind::kBreak, range));
      } else {
        E combined = call(value.function, read(whole, range), own, range);
        body.push_back(assign(read(whole, range), combined, range));
      }
      E has_value = element(value.has_values, read(block->local, range), range);
      return Body{when(has_value, std::move(body), {})};
    }));
    assignments.push_back(assign(read(value.outer, range), read(whole, range), range));
  }
  out.insert(out.end(), assignments.begin(), assignments.end());
}

hir::Expr* FoldedValues::element(hir::Local* array, E index, Range range) {
  return make(ExprKind::kIndex, array->type->element, range, {read(array, range), index});
}

hir::Expr* FoldedValues::call(hir::Function* function, E left, E right, Range range) {
  E made = make(ExprKind::kCall, left->type, range, {left, right});
  made->function = function;
  return made;
}

hir::Stmt* FoldedValues::when(E condition, Body body, Body otherwise) {
  hir::Stmt* made = analysis_.make(StmtKind::kIf, analysis_.range_of(condition));
  made->value = condition;
  made->body = std::move(body);
  made->otherwise = std::move(otherwise);
  return made;
}

}  // namespace dhpvm::compiler
