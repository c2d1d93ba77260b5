// SPDX-License-Identifier: Apache-2.0
// Building blocks of HIR, and the frame around one body.
#include "compiler/check/body.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

BodyChecker::BodyChecker(Analysis& analysis, TypeContext context)
    : analysis_(analysis), context_(std::move(context)) {
  frame_ = &frames_.emplace_back();
  open_scope();
}

void check_body(Analysis& analysis, FunctionInstance& instance) {
  instance.state = FunctionInstance::State::kBusy;
  Analysis::Enter enter(analysis, instance.origin);
  BodyChecker(analysis, instance.context).check_function(instance);
  instance.state = FunctionInstance::State::kDone;
}

const hir::Expr* check_expression(Analysis& analysis, const ast::Expr& expr, const TypeContext& context,
                                  const Type* expected, std::string_view what) {
  return BodyChecker(analysis, context).check_constant(expr, expected, what);
}

hir::Expr* BodyChecker::check_constant(const ast::Expr& expr, const Type* expected, std::string_view what) {
  constant_ = what;
  assignments_.collect(expr);
  return expected != nullptr ? value_as(expr, expected) : value(expr);
}

void BodyChecker::check_function(FunctionInstance& instance) {
  const ast::Function& declaration = *instance.symbol->declaration;
  hir::Function& function = *instance.function;
  function_name_ = function.name;
  frame_->function = &function;
  frame_->result = instance.result;
  self_ = instance.owner;
  if (self_ != nullptr) {
    analysis_.complete(*self_);
    Variable* self = declare_hidden("this", self_->type, VariableKind::kThis, declaration.name.range);
    function.parameters.push_back(self->local);
  }
  for (std::size_t i = 0; i < declaration.parameters.size(); ++i) {
    Variable* parameter =
        declare(declaration.parameters[i].name, instance.parameters[i], VariableKind::kParameter);
    function.parameters.push_back(parameter->local);
  }
  assignments_.collect(declaration);
  if (self_ != nullptr && instance.symbol == self_->symbol->init) begin_init(instance);

  if (declaration.expression != nullptr) {
    const ast::Expr& result = *declaration.expression;
    E value = frame_->result == nullptr             ? expr(result)
              : frame_->result->is(TypeKind::kVoid) ? expr(result)
                                                    : value_as(result, frame_->result);
    if (frame_->result == nullptr) {
      if (value->type->is(TypeKind::kNull)) {
        error(result.range, "the type of `null` alone is unknown").help("write the result type: `-> T?`");
        value = wrong(result.range);
      }
      instance.result = frame_->result = value->type;
    } else if (frame_->result->is(TypeKind::kVoid) && !value->type->is(TypeKind::kVoid) &&
               !value->type->is(TypeKind::kError)) {
      error(result.range, "this function gives nothing, and the expression gives '{}'", value->type->name);
    }
    if (value->type->is(TypeKind::kVoid)) {
      function.body.push_back(evaluate(value));
    } else {
      hir::Stmt* stmt = analysis_.make(StmtKind::kReturn, result.range);
      stmt->value = value;
      function.body.push_back(stmt);
    }
  } else if (declaration.body != nullptr) {
    open_scope();
    statements(declaration.body->body, function.body);
    close_scope();
    if (flow_.reachable && !frame_->result->is(TypeKind::kVoid) && !frame_->result->is(TypeKind::kError)) {
      error(declaration.name.range, "'{}' can end without giving a '{}'", declaration.name.text,
            frame_->result->name)
          .help("end every path with `return`, or with `trap(\"...\")` where it cannot get");
    }
    if (init_ != nullptr && flow_.reachable) end_init(declaration.name.range);
  } else {
    // A body may have been lost to a syntax error, about which enough was said.
    if (!analysis_.diagnostics().has_errors()) {
      error(declaration.name.range, "'{}' has no body", declaration.name.text)
          .help("write `extern fn` for a function that the host provides");
    }
    if (instance.result == nullptr) instance.result = error_type();
  }
  function.result = instance.result;
}

hir::Expr* BodyChecker::make(ExprKind kind, const Type* type, Range range, std::vector<E> operands) {
  E made = make(kind, type, range);
  made->operands = std::move(operands);
  return made;
}

hir::Expr* BodyChecker::integer(std::uint64_t value, const Type* type, Range range) {
  E made = make(ExprKind::kInt, type, range);
  made->integer = wrap(value, type);
  return made;
}

hir::Expr* BodyChecker::boolean(bool value, Range range) {
  return integer(value ? 1 : 0, basic(TypeKind::kBool), range);
}

hir::Expr* BodyChecker::string(std::string text, Range range) {
  E made = make(ExprKind::kString, basic(TypeKind::kStr), range);
  made->text = std::move(text);
  return made;
}

hir::Expr* BodyChecker::read(hir::Local* local, Range range) {
  E made = make(ExprKind::kLocal, local->type, range);
  made->local = local;
  return made;
}

hir::Expr* BodyChecker::binary(hir::Binary op, E left, E right, Range range) {
  const bool compares = op >= hir::Binary::kEq && op <= hir::Binary::kGe;
  E made = make(ExprKind::kBinary, compares ? basic(TypeKind::kBool) : left->type, range, {left, right});
  made->binary = op;
  return made;
}

hir::Expr* BodyChecker::negate_bool(E operand) {
  E made = make(ExprKind::kUnary, basic(TypeKind::kBool), analysis_.range_of(operand), {operand});
  made->unary = hir::Unary::kNot;
  return made;
}

hir::Expr* BodyChecker::call_native(const std::string& name, std::vector<E> operands, const Type* result,
                                    Range range) {
  std::vector<const Type*> parameters;
  for (E operand : operands) parameters.push_back(operand->type);
  E made = make(ExprKind::kCallNative, result, range, std::move(operands));
  made->native = analysis_.native(name, std::move(parameters), result);
  return made;
}

hir::Stmt* BodyChecker::let(hir::Local* local, E value) {
  hir::Stmt* stmt = analysis_.make(StmtKind::kLet, analysis_.range_of(value));
  stmt->local = local;
  stmt->value = value;
  return stmt;
}

hir::Stmt* BodyChecker::assign(E place, E value, Range range) {
  hir::Stmt* stmt = analysis_.make(StmtKind::kAssign, range);
  stmt->place = place;
  stmt->value = value;
  return stmt;
}

hir::Stmt* BodyChecker::evaluate(E value) {
  hir::Stmt* stmt = analysis_.make(StmtKind::kExpr, analysis_.range_of(value));
  stmt->value = value;
  return stmt;
}

hir::Local* BodyChecker::temporary(const Type* type) {
  hir::Local& local = analysis_.program().local_arena.emplace_back();
  local.type = type;
  return &local;
}

hir::Expr* BodyChecker::stable(E value, std::vector<hir::Stmt*>& statements) {
  switch (value->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kNull:
    case ExprKind::kZero:
    case ExprKind::kString: return value;
    case ExprKind::kLocal:
      // A boxed variable may change under a closure that is called in between.
      if (!value->local->boxed) return value;
      break;
    case ExprKind::kUnwrap:
      if (value->operands[0]->kind == ExprKind::kLocal && !value->operands[0]->local->boxed) return value;
      break;
    default: break;
  }
  hir::Local* local = temporary(value->type);
  statements.push_back(let(local, value));
  return read(local, analysis_.range_of(value));
}

hir::Expr* BodyChecker::in_block(std::vector<hir::Stmt*> statements, E value, Range range) {
  if (statements.empty()) return value;
  E made = make(ExprKind::kBlock, value->type, range);
  if (value->type->is(TypeKind::kVoid)) {
    statements.push_back(evaluate(value));
  } else {
    made->operands.push_back(value);
  }
  made->statements = std::move(statements);
  return made;
}

}  // namespace dhpvm::compiler
