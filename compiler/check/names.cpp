// SPDX-License-Identifier: Apache-2.0
// What a name means: variables, members without `this.`, functions, constants.
#include "base/spelling.h"
#include "compiler/check/body.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

Variable* BodyChecker::declare(const ast::Name& name, const Type* type, VariableKind kind) {
  for (const Variable* known : frame_->scopes.back()) {
    // `let _ = f();` drops a result, as often as one likes.
    if (known->name == name.text && !name.empty() && name.text != "_") {
      error(name.range, "'{}' is declared twice in this block", name.text)
          .note(known->range, "first declared here")
          .help("choose another name, or assign: `{} = ...;`", name.text);
    }
  }
  return declare_hidden(name.text, type, kind, name.range);
}

Variable* BodyChecker::declare_hidden(std::string_view name, const Type* type, VariableKind kind,
                                      Range range) {
  Variable& variable = variables_.emplace_back();
  variable.name = name;
  variable.local = temporary(type);
  variable.local->name = name;
  variable.type = type;
  variable.kind = kind;
  variable.range = range;
  variable.frame = frame_;
  frame_->scopes.back().push_back(&variable);
  return &variable;
}

Variable* BodyChecker::find_variable(std::string_view name) {
  for (Frame* frame = frame_; frame != nullptr; frame = frame->outer) {
    for (auto scope = frame->scopes.rbegin(); scope != frame->scopes.rend(); ++scope) {
      for (auto known = scope->rbegin(); known != scope->rend(); ++known) {
        if ((*known)->name == name) return *known;
      }
    }
  }
  return nullptr;
}

Variable* BodyChecker::see(Variable* variable, Range range) {
  if (variable->frame == frame_) return variable;
  // Every frame between here and the declaration passes the variable on.
  Frame* const here = frame_;
  frame_ = here->outer;
  Variable* outer = see(variable, range);
  if (outer == nullptr) {
    frame_ = here;
    return nullptr;
  }
  if (auto known = here->captures.find(outer); known != here->captures.end()) {
    frame_ = here;
    return known->second;
  }
  Variable* inner = nullptr;
  if (here->kind == Frame::Kind::kKernel) {
    E value = read_variable(outer, range);
    frame_ = here;
    inner = capture_in_kernel(*here, outer->name, value, range);
    if (inner != nullptr) here->captures[outer] = inner;
    return inner;
  }
  frame_ = here;
  if (outer->type->is(TypeKind::kFixedArray)) {
    error(range, "a closure cannot capture the fixed array '{}'", variable->name)
        .note(variable->range, "'{}' is declared here", variable->name)
        .help("use an array: `[{}]({})`", outer->type->element->name, outer->type->count);
    return nullptr;
  }
  inner = &variables_.emplace_back(*outer);
  inner->frame = here;
  inner->source = outer;
  inner->local = temporary(outer->type);
  inner->local->name = outer->local->name;
  if (outer->assignable()) {
    outer->local->boxed = true;
    inner->local->boxed = true;
  }
  here->function->captures.push_back({outer->local, inner->local});
  here->captures[outer] = inner;
  return inner;
}

hir::Expr* BodyChecker::read_variable(Variable* variable, Range range) {
  Variable* seen = see(variable, range);
  if (seen == nullptr) return wrong(range);
  if (seen->kind == VariableKind::kReduction) {
    error(range, "the reduction variable '{}' cannot be read in the loop: its iterations run in any order",
          seen->name)
        .note(seen->range, "the reduction is declared here");
    return wrong(range);
  }
  E value = read(seen->local, range);
  const Type* narrowed = narrowed_type(seen);
  return narrowed != nullptr ? refine(value, narrowed, range) : value;
}

hir::Expr* BodyChecker::this_value(Range range) {
  Variable* self = find_variable("this");
  if (self == nullptr) {
    error(range, "`this` exists in methods only");
    return wrong(range);
  }
  return read_variable(self, range);
}

bool BodyChecker::this_has_field(std::string_view name) {
  std::uint32_t index = 0;
  return self_ != nullptr && analysis_.find_field(self_->type, name, index) != nullptr;
}

FunctionSymbol* BodyChecker::this_method(std::string_view name) {
  if (self_ == nullptr) return nullptr;
  auto method = self_->symbol->methods.find(name);
  return method == self_->symbol->methods.end() ? nullptr : method->second;
}

hir::Expr* BodyChecker::name_expr(const ast::Expr& expr, const Type* expected) {
  const std::string_view name = expr.name.text;
  if (name.empty()) return wrong(expr.range);
  if (Variable* variable = find_variable(name); variable != nullptr) {
    if (in_kernel() && variable->frame != frame_) {
      if (E value = hoisted(expr); value != nullptr) return value;
    }
    return read_variable(variable, expr.range);
  }
  if (this_has_field(name)) {
    if (in_kernel()) {
      if (E value = hoisted(expr); value != nullptr) return value;
    }
    std::uint32_t index = 0;
    analysis_.find_field(self_->type, name, index);
    return field(this_value(expr.range), index, expr.range);
  }
  if (this_method(name) != nullptr) {
    error(expr.range, "'{}' is a method, and a method is no value", name)
        .help("call it: `{}(...)`, or wrap it: `fn(...) => {}(...)`", name, name);
    return wrong(expr.range);
  }
  ModuleSymbols& module = *context_.module;
  if (auto function = module.functions.find(name); function != module.functions.end()) {
    return function_value(*function->second, expr, expected);
  }
  if (auto constant = module.constants.find(name); constant != module.constants.end()) {
    return constant_value(*constant->second, expr.range);
  }
  if (primitive_named(expr) != nullptr ||
      analysis_.find_type({}, name, expr.range, context_, false) != nullptr) {
    error(expr.range, "'{}' is a type, and a value is expected here", name)
        .help("construct one: `{}(...)`", name);
    return wrong(expr.range);
  }
  if (module.imports.contains(name)) {
    error(expr.range, "'{}' is a module, and a value is expected here", name)
        .help("name something in it: `{}.something`", name);
    return wrong(expr.range);
  }
  if (is_builtin(name)) {
    error(expr.range, "'{}' is built in and can only be called", name)
        .help("wrap it in a closure: `fn(x) => {}(x)`", name);
    return wrong(expr.range);
  }
  report_unknown(name, expr.range, false);
  return wrong(expr.range);
}

hir::Expr* BodyChecker::function_value(FunctionSymbol& symbol, const ast::Expr& expr, const Type* expected) {
  const ast::Function& declaration = *symbol.declaration;
  std::vector<const Type*> arguments;
  if (!declaration.type_parameters.empty()) {
    if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
    Inference inference;
    inference.parameters = &declaration.type_parameters;
    inference.arguments.resize(declaration.type_parameters.size());
    inference.context.module = symbol.module;
    if (expected != nullptr && expected->is(TypeKind::kFunction) &&
        expected->parameters.size() == declaration.parameters.size()) {
      for (std::size_t i = 0; i < declaration.parameters.size(); ++i) {
        unify(declaration.parameters[i].type, expected->parameters[i], inference);
      }
      if (declaration.result != nullptr) unify(declaration.result, expected->result, inference);
    }
    for (const Type* argument : inference.arguments) {
      if (argument == nullptr) {
        error(expr.range, "the type arguments of '{}' are not known here", symbol.name())
            .help("wrap it in a closure with typed parameters: `fn(x: i64) => {}(x)`", symbol.name());
        return wrong(expr.range);
      }
    }
    arguments = std::move(inference.arguments);
  }
  if (declaration.linkage != ast::Linkage::kSource) {
    error(expr.range, "'{}' is provided natively and can only be called", symbol.name())
        .help("wrap it in a closure: `fn(x) => {}(x)`", symbol.name());
    return wrong(expr.range);
  }
  FunctionInstance& instance = analysis_.instantiate(symbol, nullptr, std::move(arguments), expr.range);
  const Type* result = analysis_.result_of(instance, expr.range);
  for (const Type* parameter : instance.parameters) {
    if (parameter->is(TypeKind::kError)) return wrong(expr.range);
  }
  if (result->is(TypeKind::kError)) return wrong(expr.range);
  E value = make(ExprKind::kFunctionValue, types().function(instance.parameters, result), expr.range);
  value->function = analysis_.use(instance);
  return value;
}

hir::Expr* BodyChecker::constant_value(ConstantSymbol& symbol, Range range) {
  const hir::Expr* value = analysis_.value_of(symbol, range);
  if (value == nullptr) return wrong(range);
  E copy = make(value->kind, value->type, range);
  copy->integer = value->integer;
  copy->number = value->number;
  copy->text = value->text;
  return copy;
}

ModuleSymbols* BodyChecker::module_named(const ast::Expr& expr) {
  if (expr.kind != ast::ExprKind::kName) return nullptr;
  const std::string_view name = expr.name.text;
  auto module = context_.module->imports.find(name);
  if (module == context_.module->imports.end()) return nullptr;
  if (find_variable(name) != nullptr || this_has_field(name)) return nullptr;
  return module->second;
}

std::vector<std::string> BodyChecker::visible_names() {
  std::vector<std::string> names;
  for (const Frame* frame = frame_; frame != nullptr; frame = frame->outer) {
    for (const auto& scope : frame->scopes) {
      for (const Variable* variable : scope) {
        if (!variable->name.empty()) names.emplace_back(variable->name);
      }
    }
  }
  if (self_ != nullptr) {
    for (const FieldInfo& known : self_->type->fields) names.push_back(known.name);
    for (const auto& [name, method] : self_->symbol->methods) names.emplace_back(name);
  }
  for (const auto& [name, symbol] : context_.module->functions) names.emplace_back(name);
  for (const auto& [name, symbol] : context_.module->constants) names.emplace_back(name);
  for (const auto& [name, symbol] : context_.module->imports) names.emplace_back(name);
  for (const char* builtin : {"print", "trap", "assert", "str", "hash"}) names.emplace_back(builtin);
  return names;
}

void BodyChecker::report_unknown(std::string_view name, Range range, bool called) {
  Diagnostic& diagnostic = constant_.empty()
                               ? error(range, "no {} '{}' here", called ? "function" : "variable", name)
                               : error(range, "no constant '{}' here: {} must be constant", name, constant_);
  std::vector<std::string> names = visible_names();
  for (std::string& type : analysis_.names_of_types(context_)) names.push_back(std::move(type));
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (const auto& [module_name, module] : context_.module->imports) {
    if (module->functions.contains(name) || module->constants.contains(name)) {
      diagnostic.help("write `{}.{}`", module_name, name);
      return;
    }
  }
  std::string_view near = value_for_foreign(name);
  if (const std::string_view advice = advice_for_foreign(name); !advice.empty()) {
    diagnostic.help("{}", advice);
    return;
  }
  const std::string_view module = near.empty() ? library_module_of(name) : std::string_view();
  if (!module.empty() && !context_.module->imports.contains(module)) {
    // Types need no qualifier, and begin with a capital letter.
    if (module == name || (name[0] >= 'A' && name[0] <= 'Z')) {
      diagnostic.help("add `import {};` at the top of the file", module);
    } else {
      diagnostic.help("write `{}.{}`, with `import {};` at the top of the file", module, name, module);
    }
    return;
  }
  if (near.empty()) near = nearest_name(name, views);
  if (!near.empty()) diagnostic.help("write `{}`", near);
}

}  // namespace dhpvm::compiler
