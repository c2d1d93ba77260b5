// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/reductions.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using bytecode::ReductionOp;
using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

ReductionOp reduction_op(ast::ReductionOp op) {
  switch (op) {
    case ast::ReductionOp::kAdd: return ReductionOp::kAdd;
    case ast::ReductionOp::kMul: return ReductionOp::kMul;
    case ast::ReductionOp::kMin: return ReductionOp::kMin;
    case ast::ReductionOp::kMax: return ReductionOp::kMax;
    case ast::ReductionOp::kAnd: return ReductionOp::kAnd;
    case ast::ReductionOp::kOr: return ReductionOp::kOr;
    case ast::ReductionOp::kXor: return ReductionOp::kXor;
  }
  return ReductionOp::kAdd;
}

Binary binary_of(ReductionOp op) {
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

// The update that a reduction variable takes, as written.
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

}  // namespace

void ReductionChecker::parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& kernel) {
  for (const ast::Reduction& reduction : stmt.parallel->reductions) {
    const ast::Name& name = reduction.variable;
    if (name.empty()) continue;
    state_.frame = kernel.outer;
    Variable* outer = parts_.scopes.find_variable(name.text);
    if (outer == nullptr) {
      if (parts_.names.this_has_field(name.text)) {
        error(name.range, "a reduction variable must be a local `var`, and '{}' is a field", name.text)
            .help("use a local, and assign the field after the loop");
      } else {
        parts_.names.report_unknown(name.text, name.range, false);
      }
    } else if (outer->kind == VariableKind::kReduction ||
               !parts_.assignment.check_assignable(*outer, name.range)) {
      outer = nullptr;
    }
    if (outer != nullptr) outer = parts_.scopes.see(outer, name.range);
    state_.frame = &kernel;
    const ReductionOp op = reduction_op(reduction.op);
    const Type* type = outer != nullptr ? outer->type : error_type();
    const bool bitwise = op >= ReductionOp::kAnd;
    if (outer != nullptr &&
        !(bitwise ? type->is_integer() || type->is(TypeKind::kBool) : type->is_number())) {
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

// `s += e`, `s = math.min(s, e)` and so on, where s is a reduction variable. False when `stmt` is no
// assignment to one.
bool ReductionChecker::reduction_assign(const ast::Stmt& stmt, Body& out) {
  if (!state_.in_kernel() || stmt.place->kind != ast::ExprKind::kName) return false;
  Variable* variable = parts_.scopes.find_variable(stmt.place->name.text);
  if (variable == nullptr || variable->kind != VariableKind::kReduction || variable->frame != state_.frame)
    return false;
  const hir::ParallelLoop::ReductionVariable* reduction = nullptr;
  for (const auto& known : state_.frame->loop->reductions) {
    if (known.inner == variable->local) reduction = &known;
  }
  const ast::Expr* given = nullptr;
  const bool subtracts = stmt.kind == ast::StmtKind::kUpdate && stmt.binary == ast::BinaryOp::kSub;
  if (reduction != nullptr && stmt.kind == ast::StmtKind::kUpdate) {
    const bool matches =
        (reduction->op == ReductionOp::kAdd && (stmt.binary == ast::BinaryOp::kAdd || subtracts)) ||
        (reduction->op == ReductionOp::kMul && stmt.binary == ast::BinaryOp::kMul) ||
        (reduction->op == ReductionOp::kAnd && stmt.binary == ast::BinaryOp::kBitAnd) ||
        (reduction->op == ReductionOp::kOr && stmt.binary == ast::BinaryOp::kBitOr) ||
        (reduction->op == ReductionOp::kXor && stmt.binary == ast::BinaryOp::kBitXor);
    if (matches) given = stmt.value;
  } else if (reduction != nullptr && stmt.value->kind == ast::ExprKind::kCall) {
    given = min_max_argument(*stmt.value, variable->name, reduction->op);
  }
  if (given == nullptr) {
    if (reduction != nullptr) {
      error(stmt.range, "the reduction variable '{}' can only be updated by its own operation",
            variable->name)
          .help("write `{};`", update_text(variable->name, reduction->op));
    }
    return true;
  }
  hir::Stmt* made = analysis_.make(StmtKind::kUpdate, stmt.range);
  made->place = read(variable->local, stmt.place->range);
  made->value = parts_.conversions.value_as(*given, variable->type);
  made->binary = binary_of(reduction->op);
  if (subtracts) {
    // s - e and s + (-e) have the same bits.
    made->value = make(ExprKind::kUnary, made->value->type, given->range, {made->value});
    made->value->unary = hir::Unary::kNegate;
  }
  if (!made->value->type->is(TypeKind::kError)) out.push_back(made);
  return true;
}

// The e of `math.min(s, e)`, or of `math.min(e, s)`; null when `call` is something else.
const ast::Expr* ReductionChecker::min_max_argument(const ast::Expr& call, std::string_view variable,
                                                    ReductionOp op) {
  if (op != ReductionOp::kMin && op != ReductionOp::kMax) return nullptr;
  const std::string_view wanted = op == ReductionOp::kMin ? "min" : "max";
  const ast::Expr& callee = *call.operands[0];
  if (callee.kind != ast::ExprKind::kMember || callee.safe || callee.name.text != wanted) return nullptr;
  const ModuleSymbols* module = parts_.names.module_named(*callee.operands[0]);
  if (module == nullptr || module->name != "math" || call.arguments.size() != 2) return nullptr;
  for (int i = 0; i < 2; ++i) {
    const ast::Expr& side = *call.arguments[static_cast<std::size_t>(i)].value;
    if (side.kind == ast::ExprKind::kName && side.name.text == variable) {
      return call.arguments[static_cast<std::size_t>(1 - i)].value;
    }
  }
  return nullptr;
}

}  // namespace dhpvm::compiler
