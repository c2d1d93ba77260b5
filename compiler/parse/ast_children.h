// SPDX-License-Identifier: Apache-2.0
// Visits the children of each node of a syntax tree in the order of the source; no other code lists them. A visitor is
// called with `const Expr&`, `const Stmt&`, `const Type&`, and with an `Arm` or a closure's `Function` as a whole,
// because these have scopes of their own; for_each_child visits their children in turn. Absent children are left out.
#pragma once

#include "compiler/parse/ast.h"

namespace dhpvm::compiler::ast {

// A visitor made of lambdas, one for each kind of child.
template <typename... Parts>
struct Overloaded : Parts... {
  using Parts::operator()...;
};
template <typename... Parts>
Overloaded(Parts...) -> Overloaded<Parts...>;

// Trees with errors may lack children.
template <typename Node, typename Visitor>
void visit_present(const Node* part, const Visitor& visit) {
  if (part != nullptr) visit(*part);
}

template <typename Visitor>
void for_each_child(const Type& node, const Visitor& visit) {
  for (const Type* argument : node.arguments) visit_present(argument, visit);
  visit_present(node.element, visit);
  visit_present(node.count, visit);
  visit_present(node.columns, visit);
}

template <typename Visitor>
void for_each_child(const Pattern& node, const Visitor& visit) {
  visit_present(node.type, visit);
  visit_present(node.value, visit);
  visit_present(node.high, visit);
  for (const Pattern& part : node.parts) for_each_child(part, visit);
}

template <typename Visitor>
void for_each_child(const Arm& node, const Visitor& visit) {
  for (const Pattern& pattern : node.patterns) for_each_child(pattern, visit);
  visit_present(node.guard, visit);
  visit_present(node.value, visit);
  visit_present(node.body, visit);
}

template <typename Visitor>
void for_each_child(const Function& node, const Visitor& visit) {
  for (const TypeParameter& parameter : node.type_parameters) visit_present(parameter.bound, visit);
  for (const Parameter& parameter : node.parameters) {
    for (const Pattern& pattern : parameter.patterns) for_each_child(pattern, visit);
    visit_present(parameter.type, visit);
    visit_present(parameter.fallback, visit);
  }
  visit_present(node.result, visit);
  visit_present(node.body, visit);
  visit_present(node.expression, visit);
}

template <typename Visitor>
void for_each_child(const Expr& node, const Visitor& visit) {
  for (const Expr* operand : node.operands) visit_present(operand, visit);
  visit_present(node.type, visit);
  for (const Type* argument : node.type_arguments) visit_present(argument, visit);
  for (const Argument& argument : node.arguments) visit_present(argument.value, visit);
  for (const FormatPart& part : node.parts) {
    visit_present(part.value, visit);
    for (const Expr* number : part.spec_numbers) visit_present(number, visit);
  }
  for (const Arm& arm : node.arms) visit(arm);
  visit_present(node.closure, visit);
  visit_present(node.statement, visit);
}

template <typename Visitor>
void for_each_child(const Stmt& node, const Visitor& visit) {
  for (const auto* patterns : {&node.index_patterns, &node.patterns}) {
    for (const Pattern& pattern : *patterns) for_each_child(pattern, visit);
  }
  for (const Expr* part : {node.place, node.value, node.limit, node.step}) visit_present(part, visit);
  visit_present(node.type, visit);
  if (node.parallel != nullptr) {
    for (const Hint& hint : node.parallel->hints) visit_present(hint.argument, visit);
    for (const Dimension& dimension : node.parallel->dimensions) {
      visit_present(dimension.low, visit);
      visit_present(dimension.high, visit);
      visit_present(dimension.step, visit);
    }
    for (const Reduction& reduction : node.parallel->reductions) visit_present(reduction.function, visit);
  }
  for (const Stmt* inner : node.body) visit_present(inner, visit);
  visit_present(node.otherwise, visit);
  for (const Arm& arm : node.arms) visit(arm);
}

}  // namespace dhpvm::compiler::ast
