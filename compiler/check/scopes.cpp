// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/scopes.h"

#include <algorithm>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

void Scopes::close_scope() {
  Frame& frame = *state_.frame;
  for (const Variable* variable : frame.scopes.back()) frame.declared[variable->name].pop_back();
  frame.scopes.pop_back();
}

Variable* Scopes::declare(const ast::Name& name, const Type* type, VariableKind kind) {
  // `let _ = f();` drops a result, and may be repeated.
  if (!name.empty() && name.text != "_") {
    const std::vector<Frame::Declared>& known = state_.frame->declared[name.text];
    const auto first = std::ranges::find(known, state_.frame->scopes.size(), &Frame::Declared::scope);
    if (first != known.end()) {
      error(name.range, "'{}' is declared twice in this block", name.text)
          .note(first->variable->range, "first declared here")
          .help("choose another name, or assign: `{} = ...;`", name.text);
    }
  }
  return declare_hidden(name.text, type, kind, name.range);
}

Variable* Scopes::declare_hidden(std::string_view name, const Type* type, VariableKind kind, Range range) {
  Variable& variable = state_.variables.emplace_back();
  variable.name = name;
  variable.local = temporary(type);
  variable.local->name = name;
  if (state_.assignments.in_expression(range)) state_.assigned_in_expressions.insert(variable.local);
  variable.type = type;
  variable.kind = kind;
  variable.range = range;
  variable.frame = state_.frame;
  Frame& frame = *state_.frame;
  frame.scopes.back().push_back(&variable);
  frame.declared[name].push_back({&variable, frame.scopes.size()});
  if (Observer* observer = analysis_.observer(); observer != nullptr) observer->on_variable(range, type);
  return &variable;
}

Variable* Scopes::find_variable(std::string_view name) {
  for (Frame* frame = state_.frame; frame != nullptr; frame = frame->outer) {
    const auto known = frame->declared.find(name);
    if (known != frame->declared.end() && !known->second.empty()) return known->second.back().variable;
  }
  return nullptr;
}

Variable* Scopes::see(Variable* variable, Range range) {
  if (variable->frame == state_.frame) return variable;
  // Every frame between here and the declaration captures the variable.
  Frame* const here = state_.frame;
  state_.frame = here->outer;
  Variable* outer = see(variable, range);
  if (outer == nullptr) {
    state_.frame = here;
    return nullptr;
  }
  if (auto known = here->captures.find(outer); known != here->captures.end()) {
    state_.frame = here;
    return known->second;
  }
  Variable* inner = nullptr;
  if (here->kind == Frame::Kind::kKernel) {
    E value = parts_.names.read_variable(outer, range);
    state_.frame = here;
    inner = parts_.kernel_captures.capture_in_kernel(*here, outer->name, value, range);
    if (inner != nullptr) here->captures[outer] = inner;
    return inner;
  }
  state_.frame = here;
  if (outer->type->is(TypeKind::kFixedArray)) {
    error(range, "a closure cannot capture the fixed array '{}'", variable->name)
        .note(variable->range, "'{}' is declared here", variable->name)
        .help("use an array: `{}`", ArrayChecker::array_like(outer->type));
    return nullptr;
  }
  inner = &state_.variables.emplace_back(*outer);
  inner->frame = here;
  inner->source = outer;
  inner->local = temporary(outer->type);
  inner->local->name = outer->local->name;
  if (outer->assignable() || outer->is_own_closure) {
    outer->local->boxed = true;
    inner->local->boxed = true;
  }
  here->function->captures.push_back({outer->local, inner->local});
  here->captures[outer] = inner;
  return inner;
}

}  // namespace dhpvm::compiler
