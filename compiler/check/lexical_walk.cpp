// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/lexical_walk.h"

#include "compiler/parse/ast_children.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::PatternKind;
using ast::StmtKind;

void LexicalWalk::module(const ast::Module& node) {
  for (const ast::Constant* declared : node.constants) constant(*declared);
  for (const ast::Function* declared : node.functions) function(*declared);
  for (const ast::TypeDecl* declared : node.types) type_declaration(*declared);
}

void LexicalWalk::constant(const ast::Constant& node) {
  type(node.type);
  expr(node.value);
}

void LexicalWalk::type_declaration(const ast::TypeDecl& node) {
  type_parameters(node.type_parameters);
  for (const ast::Type* interface : node.interfaces) type(interface);
  type(node.aliased);
  for (const ast::Field& field : node.fields) {
    type(field.type);
    expr(field.fallback);
  }
  for (const ast::EnumCase& option : node.cases) {
    for (const ast::Field& value : option.values) {
      type(value.type);
      expr(value.fallback);
    }
  }
  if (node.init != nullptr) function(*node.init);
  for (const ast::Function* method : node.methods) function(*method);
}

void LexicalWalk::type_parameters(const std::vector<ast::TypeParameter>& list) {
  for (const ast::TypeParameter& parameter : list) type(parameter.bound);
}

void LexicalWalk::function(const ast::Function& node) {
  if (closures_ == 0 && !enters(node)) return;
  const std::size_t outer = locals_.size();
  type_parameters(node.type_parameters);
  for (const ast::Parameter& parameter : node.parameters) {
    type(parameter.type);
    expr(parameter.fallback);
    declare(parameter.name, Role::kParameter);
    for (const ast::Pattern& whole : parameter.patterns) pattern(whole);
  }
  type(node.result);
  stmt(node.body);
  expr(node.expression);
  close_scope(outer, node.range.end);
}

void LexicalWalk::type(const ast::Type* node) {
  if (node == nullptr) return;
  on_type(*node);
  for (const ast::Type* argument : node->arguments) type(argument);
  type(node->element);
  expr(node->count);
}

void LexicalWalk::expr(const ast::Expr* node) {
  if (node == nullptr) return;
  on_expr(*node);
  if (node->kind == ExprKind::kName) {
    if (Local* local = find(node->name.text); local != nullptr) {
      local->is_read = true;
      on_read(*local, node->name);
    } else {
      on_free_name(node->name);
    }
  }
  const ast::Overloaded visit{
      [this](const ast::Expr& part) { expr(&part); }, [this](const ast::Stmt& part) { stmt(&part); },
      [this](const ast::Type& part) { type(&part); }, [this](const ast::Arm& part) { arm(part); },
      [this](const ast::Function& part) {
        ++closures_;
        function(part);
        --closures_;
      }};
  if (node->kind == ExprKind::kCatch) {
    expr(node->operands[0]);
    const std::size_t outer = locals_.size();
    declare(node->name, Role::kCaught);
    ++expressions_;
    stmt(node->statement);
    --expressions_;
    close_scope(outer, node->range.end);
    return;
  }
  const bool is_block = node->kind == ExprKind::kBlock || node->kind == ExprKind::kTryBlock;
  expressions_ += is_block ? 1 : 0;
  ast::for_each_child(*node, visit);
  expressions_ -= is_block ? 1 : 0;
}

void LexicalWalk::stmt(const ast::Stmt* node) {
  if (node == nullptr) return;
  on_statement(*node);
  switch (node->kind) {
    case StmtKind::kLet:
    case StmtKind::kVar:
    case StmtKind::kUse:
      type(node->type);
      expr(node->value);
      for (const ast::Pattern& whole : node->patterns) pattern(whole);
      declare(node->name, node->kind == StmtKind::kLet   ? Role::kLet
                          : node->kind == StmtKind::kVar ? Role::kVar
                                                         : Role::kUse);
      return;
    case StmtKind::kAssign:
    case StmtKind::kUpdate: {
      Local* target = node->place->kind == ExprKind::kName ? find(node->place->name.text) : nullptr;
      if (target == nullptr) expr(node->place);
      expr(node->value);
      if (target == nullptr) return;
      target->is_assigned = true;
      on_assign(*target, node->place->name);
      return;
    }
    default: parts(*node); return;
  }
}

void LexicalWalk::parts(const ast::Stmt& node) {
  const std::size_t outer = locals_.size();
  expr(node.value);
  expr(node.limit);
  expr(node.step);
  if (node.parallel != nullptr) heads(*node.parallel);
  declare(node.index_name, Role::kLoop);
  for (const ast::Pattern& whole : node.index_patterns) pattern(whole);
  declare(node.name, Role::kLoop);
  for (const ast::Pattern& whole : node.patterns) pattern(whole);
  if (node.kind == StmtKind::kBlock) on_statements(node.body);
  for (const ast::Stmt* inner : node.body) stmt(inner);
  // A block's scope ends after its last statement.
  close_scope(outer, node.kind == StmtKind::kBlock || node.body.empty() ? node.range.end
                                                                        : node.body.back()->range.end);
  stmt(node.otherwise);
  for (const ast::Arm& alternative : node.arms) arm(alternative);
}

void LexicalWalk::heads(const ast::ParallelFor& loop) {
  for (const ast::Hint& hint : loop.hints) expr(hint.argument);
  for (const ast::Dimension& dimension : loop.dimensions) {
    expr(dimension.low);
    expr(dimension.high);
    expr(dimension.step);
  }
  for (const ast::Reduction& reduction : loop.reductions) expr(reduction.function);
  // The loop updates the outer variable, whose result is read later.
  for (const ast::Reduction& reduction : loop.reductions) {
    Local* outer = find(reduction.variable.text);
    if (outer == nullptr) continue;
    outer->is_read = true;
    on_read(*outer, reduction.variable);
  }
  for (const ast::Dimension& dimension : loop.dimensions) declare(dimension.name, Role::kLoop);
  for (const ast::Reduction& reduction : loop.reductions) declare(reduction.variable, Role::kReduction);
}

void LexicalWalk::arm(const ast::Arm& node) {
  const std::size_t outer = locals_.size();
  alternatives(node.patterns);
  expr(node.guard);
  expr(node.value);
  stmt(node.body);
  close_scope(outer, node.range.end);
}

// Each alternative declares the same variables.
void LexicalWalk::alternatives(const std::vector<ast::Pattern>& list) {
  const bool outer = declares_;
  for (const ast::Pattern& alternative : list) {
    pattern(alternative);
    declares_ = false;
  }
  declares_ = outer;
}

void LexicalWalk::pattern(const ast::Pattern& node) {
  on_pattern(node);
  if (node.kind == PatternKind::kEither) return alternatives(node.parts);
  for (const ast::Pattern& part : node.parts) pattern(part);
  if (node.kind == PatternKind::kName && node.part && node.type->qualifier.empty() &&
      !is_known_name(node.type->name.text)) {
    on_type(*node.type);
    declare(node.type->name, Role::kPart);
    return;
  }
  // A case of an enum needs no qualifier, and is not a variable.
  if (node.kind == PatternKind::kCase && node.value->kind == ExprKind::kName) return;
  // A bare name is in both `value` and `type`.
  if (node.type != nullptr) on_type(*node.type);
  if (node.type != nullptr && node.kind != PatternKind::kName) {
    for (const ast::Type* argument : node.type->arguments) type(argument);
  }
  expr(node.value);
  expr(node.high);
  declare(node.binding, Role::kPattern);
}

void LexicalWalk::declare(const ast::Name& name, Role role) {
  if (name.empty() || !declares_) return;
  Local& local = locals_.emplace_back();
  local.name = name;
  local.role = role;
  local.closures = closures_;
  named_[name.text].push_back(&local);
  on_declare(local);
}

LexicalWalk::Local* LexicalWalk::find(std::string_view name) {
  const auto locals = named_.find(name);
  return locals == named_.end() || locals->second.empty() ? nullptr : locals->second.back();
}

void LexicalWalk::close_scope(std::size_t outer, std::uint32_t end) {
  while (locals_.size() > outer) {
    locals_.back().end = end;
    on_scope_end(locals_.back());
    named_[locals_.back().name.text].pop_back();
    locals_.pop_back();
  }
}

}  // namespace dhpvm::compiler
