// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/body_part.h"

#include <utility>

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

BodyPart::BodyPart(BodyParts& parts) : parts_(parts), state_(parts.state), analysis_(parts.state.analysis) {}

hir::Expr* BodyPart::make(ExprKind kind, const Type* type, Range range) {
  const bool calls = kind == ExprKind::kCall || kind == ExprKind::kCallNative ||
                     kind == ExprKind::kCallInterface || kind == ExprKind::kCallClosure;
  if (calls) ++state_.moment;
  return analysis_.make(kind, type, range);
}

hir::Expr* BodyPart::make(ExprKind kind, const Type* type, Range range, std::vector<E> operands) {
  E made = make(kind, type, range);
  made->operands = std::move(operands);
  return made;
}

hir::Expr* BodyPart::integer(std::uint64_t value, const Type* type, Range range) {
  E made = make(ExprKind::kInt, type, range);
  made->integer = wrap(value, type);
  return made;
}

hir::Expr* BodyPart::boolean(bool value, Range range) {
  return integer(value ? 1 : 0, basic(TypeKind::kBool), range);
}

hir::Expr* BodyPart::string(std::string text, Range range) {
  E made = make(ExprKind::kString, basic(TypeKind::kStr), range);
  made->text = std::move(text);
  return made;
}

hir::Expr* BodyPart::read(hir::Local* local, Range range) {
  E made = make(ExprKind::kLocal, local->type, range);
  made->local = local;
  return made;
}

hir::Expr* BodyPart::binary(hir::Binary op, E left, E right, Range range) {
  const bool compares = op >= hir::Binary::kEq && op <= hir::Binary::kGe;
  E made = make(ExprKind::kBinary, compares ? basic(TypeKind::kBool) : left->type, range, {left, right});
  made->binary = op;
  return made;
}

hir::Expr* BodyPart::negate_bool(E operand) {
  E made = make(ExprKind::kUnary, basic(TypeKind::kBool), analysis_.range_of(operand), {operand});
  made->unary = hir::Unary::kNot;
  return made;
}

hir::Expr* BodyPart::call_native(const std::string& name, std::vector<E> operands, const Type* result,
                                 Range range) {
  std::vector<const Type*> parameters;
  for (E operand : operands) parameters.push_back(operand->type);
  // The library's own functions do not call the program.
  E made = analysis_.make(ExprKind::kCallNative, result, range);
  made->operands = std::move(operands);
  made->native = analysis_.native(name, std::move(parameters), result);
  return made;
}

hir::Stmt* BodyPart::let(hir::Local* local, E value) {
  hir::Stmt* stmt = analysis_.make(StmtKind::kLet, analysis_.range_of(value));
  stmt->local = local;
  stmt->value = value;
  return stmt;
}

hir::Stmt* BodyPart::assign(E place, E value, Range range) {
  hir::Stmt* stmt = analysis_.make(StmtKind::kAssign, range);
  stmt->place = place;
  stmt->value = value;
  return stmt;
}

hir::Stmt* BodyPart::evaluate(E value) {
  hir::Stmt* stmt = analysis_.make(StmtKind::kExpr, analysis_.range_of(value));
  stmt->value = value;
  return stmt;
}

hir::Local* BodyPart::temporary(const Type* type) {
  hir::Local& local = analysis_.program().local_arena.emplace_back();
  local.type = type;
  return &local;
}

hir::Local* BodyPart::keep(E value, Body& out) {
  hir::Local* local = temporary(value->type);
  out.push_back(let(local, value));
  return local;
}

// A closure called in between may change a boxed variable; a block in an expression may change any variable.
bool BodyPart::may_change(const hir::Local& local) const {
  return local.boxed || state_.assigned_in_expressions.contains(&local);
}

hir::Expr* BodyPart::stable(E value, std::vector<hir::Stmt*>& statements) {
  switch (value->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kNull:
    case ExprKind::kZero:
    case ExprKind::kString: return value;
    case ExprKind::kLocal:
      if (!may_change(*value->local)) return value;
      break;
    case ExprKind::kUnwrap:
      if (value->operands[0]->kind == ExprKind::kLocal && !may_change(*value->operands[0]->local))
        return value;
      break;
    default: break;
  }
  return read(keep(value, statements), analysis_.range_of(value));
}

hir::Expr* BodyPart::in_block(std::vector<hir::Stmt*> statements, E value, Range range) {
  if (statements.empty()) return value;
  E made = make(ExprKind::kBlock, value->type, range);
  if (value->type->is(TypeKind::kVoid) || value->type->is(TypeKind::kNever)) {
    statements.push_back(evaluate(value));
  } else {
    made->operands.push_back(value);
  }
  made->statements = std::move(statements);
  return made;
}

// for i in low..high { body(i) }
hir::Stmt* BodyPart::count_loop(E high, Range range, const std::function<Body(E index)>& body) {
  const Type* i64 = basic(TypeKind::kI64);
  hir::Stmt* loop = analysis_.make(hir::StmtKind::kForRange, range);
  loop->local = temporary(i64);
  loop->value = integer(0, i64, range);
  loop->limit = high;
  loop->body = body(read(loop->local, range));
  return loop;
}

}  // namespace dhpvm::compiler
