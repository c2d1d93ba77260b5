// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/known_values.h"

#include <utility>

namespace dhpvm::compiler {

using hir::ExprKind;

KnownValue& KnownValues::add(KnownContext& context, const Type* type) {
  KnownValue& made = values_.emplace_back();
  made.context = &context;
  made.type = type;
  return made;
}

KnownValue* KnownValues::find(hir::Expr& expr, KnownContext& context) {
  switch (expr.kind) {
    case ExprKind::kLocal: {
      if (KnownValue* known = context.find(expr.local); known != nullptr) return known;
      if (context.is_pure || !is_needed(expr.type) || expr.type->is(TypeKind::kFunction)) return nullptr;
      KnownValue& made = add(context, expr.type);  // an object counts as its fields, whatever its identity
      made.value = &expr;
      return &made;
    }
    case ExprKind::kUnwrap:
    case ExprKind::kCast: {
      // An object in a variable that has been narrowed to non-null, or to the class.
      const bool is_object = expr.type->is(TypeKind::kClass) && expr.operands[0]->kind == ExprKind::kLocal;
      if (!is_object || context.is_pure) return nullptr;
      KnownValue& made = add(context, expr.type);
      made.value = &expr;
      return &made;
    }
    case ExprKind::kField: {
      if (!is_needed(expr.type) || !expr.operands[0]->type->is(TypeKind::kClass)) return nullptr;
      KnownValue* whole = find(*expr.operands[0], context);
      return whole == nullptr ? nullptr : part(*whole, expr.index);
    }
    case ExprKind::kClosure:
    case ExprKind::kFunctionValue: {
      KnownValue& made = add(context, expr.type);
      made.target = expr.function;
      made.value = &expr;
      return &made;
    }
    default: return nullptr;
  }
}

KnownValue* KnownValues::part(KnownValue& whole, std::uint32_t index) {
  const auto known = whole.parts.find(index);
  if (known != whole.parts.end()) return known->second;
  const Type* type =
      whole.target != nullptr ? whole.target->captures[index].inner->type : whole.type->fields[index].type;
  KnownValue& made = add(*whole.context, type);
  whole.parts[index] = &made;
  made.operand = whole.operand;
  made.path = whole.path;
  made.path.push_back(index);
  made.may_change = whole.target == nullptr || whole.target->captures[index].outer->boxed;
  if (whole.value != nullptr) {
    const SourceRange range = analysis_.range_of(whole.value);
    hir::Expr* value = nullptr;
    if (whole.target != nullptr) {
      hir::Local* captured = whole.target->captures[index].outer;
      if (KnownValue* same = whole.context->find(captured); same != nullptr) return whole.parts[index] = same;
      value = analysis_.make(ExprKind::kLocal, type, range);
      value->local = captured;
    } else {
      value = analysis_.make(ExprKind::kField, type, range);
      value->operands.push_back(whole.value);
      value->index = index;
    }
    made.value = value;
  } else if (whole.outer != nullptr) {
    made.outer = part(*whole.outer, index);
    made.target = made.outer->target;
  }
  return &made;
}

// The variable that holds a value in a loop or copy; it is added to the captures or parameters.
hir::Local* KnownValues::holder(KnownValue& value, SourceRange range) {
  if (value.local != nullptr) return value.local;
  value.local = &analysis_.program().local_arena.emplace_back();
  value.local->type = value.type;
  if (value.context->kind == KnownContext::Kind::kLoop) {
    value.context->loop->captures.push_back({value.local, read(*value.outer, range)});
    return value.local;
  }
  if (value.may_change && !value.context->is_pure)
    value.local->type = analysis_.types().function({}, value.type);
  value.context->copy->function->parameters.push_back(value.local);
  value.context->copy->pieces.push_back({value.operand, value.path});
  return value.local;
}

hir::Expr* KnownValues::read(KnownValue& value, SourceRange range) {
  hir::Expr* made = analysis_.make(ExprKind::kLocal, value.type, range);
  if (value.value != nullptr) {
    *made = *value.value;
    return made;
  }
  made->local = holder(value, range);
  made->type = made->local->type;
  if (made->type == value.type) return made;
  hir::Expr* call = analysis_.make(ExprKind::kCallClosure, value.type, range);
  call->operands.push_back(made);
  return call;
}

hir::Expr* KnownValues::give(KnownValue& value, SourceRange range) {
  if (value.context->is_pure || !value.may_change) return read(value, range);
  if (value.value != nullptr) return reader(value, range);
  hir::Expr* made = analysis_.make(ExprKind::kLocal, value.type, range);
  made->local = holder(value, range);
  made->type = made->local->type;
  return made;
}

// fn() => value
hir::Expr* KnownValues::reader(KnownValue& value, SourceRange range) {
  hir::Expr* result = nullptr;
  hir::Expr** end = &result;
  const hir::Expr* from = value.value;
  for (; from->kind != ExprKind::kLocal; from = from->operands[0]) {
    *end = analysis_.make(ExprKind::kField, from->type, range);
    **end = *from;
    end = &(*end)->operands[0];
  }
  hir::Local* inner = &analysis_.program().local_arena.emplace_back(*from->local);
  *end = analysis_.make(ExprKind::kLocal, from->type, range);
  (*end)->local = inner;

  hir::Function& function = analysis_.program().function_arena.emplace_back();
  function.name = "captured value";
  function.position = analysis_.position(range);
  function.result = value.type;
  function.closure_type = analysis_.types().function({}, value.type);
  function.captures.push_back({from->local, inner});
  hir::Stmt* give = analysis_.make(hir::StmtKind::kReturn, range);
  give->value = result;
  function.body.push_back(give);
  analysis_.program().functions.push_back(&function);
  hir::Expr* made = analysis_.make(ExprKind::kClosure, function.closure_type, range);
  made->function = &function;
  return made;
}

KnownValue* KnownValues::in_loop(KnownValue& outer, KnownContext& loop) {
  KnownValue& made = add(loop, outer.type);
  made.target = outer.target;
  made.outer = &outer;
  return &made;
}

KnownValue* KnownValues::in_copy(KnownValue& argument, KnownContext& copy, std::size_t operand,
                                 std::vector<std::uint32_t> path) {
  KnownValue& made = add(copy, argument.type);
  made.target = argument.target;
  made.operand = operand;
  made.path = std::move(path);
  made.may_change = argument.may_change;
  if (argument.target == nullptr) return &made;
  for (std::uint32_t i = 0; i < argument.target->captures.size(); ++i) {
    std::vector<std::uint32_t> inner = made.path;
    inner.push_back(i);
    made.parts[i] = in_copy(*part(argument, i), copy, operand, std::move(inner));
  }
  return &made;
}

std::string KnownValues::key_of(KnownValue& value) {
  if (value.target == nullptr) return "-";
  std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(value.target)) + "(";
  for (std::uint32_t i = 0; i < value.target->captures.size(); ++i) key += key_of(*part(value, i)) + ",";
  return key + ")";
}

}  // namespace dhpvm::compiler
