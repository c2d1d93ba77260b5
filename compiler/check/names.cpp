// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/names.h"

#include <algorithm>
#include <utility>

#include "base/spelling.h"
#include "compiler/check/body_parts.h"
#include "compiler/parse/imports.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

// Whether the name at this place is the start of `name.member`, as a module would be.
bool is_followed_by_member(const SourceManager& sources, SourceRange range) {
  const std::string_view behind = sources.file(range.file).text().substr(range.end);
  return behind.starts_with('.') && !behind.starts_with("..");
}

// Whether the text is the name of a type that can be called, such as `Deque`, and not a form such as `[T]`.
bool is_name_of_type(std::string_view text) {
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' && text.size() > 2;
}

}  // namespace

hir::Expr* NameChecker::read_variable(Variable* variable, Range range) {
  Variable* seen = parts_.scopes.see(variable, range);
  if (seen == nullptr) return wrong(range);
  if (seen->kind == VariableKind::kReduction) {
    Diagnostic& found =
        error(range,
              "the reduction variable '{}' cannot be read in the loop: its iterations run in any order",
              seen->name)
            .note(seen->range, "the reduction is declared here");
    const auto is_it = [&](const FoldedValue& value) { return value.variable == seen && value.is_search(); };
    if (std::ranges::any_of(state_.frame->blocks.values, is_it))
      found.help("a hit assigns it: `if ... {{ {} = {}; }}`", seen->name,
                 seen->type->is(TypeKind::kBool) ? "true" : "...");
    return wrong(range);
  }
  E value = read(seen->local, range);
  if (seen->type->is(TypeKind::kFixedArray))
    value->type = seen->type;  // parallel loops use an array in its place
  const Type* narrowed = parts_.narrowing.narrowed_type(seen);
  return narrowed != nullptr ? parts_.narrowing.refine(value, narrowed, range) : value;
}

hir::Expr* NameChecker::this_value(Range range) {
  Variable* self = parts_.scopes.find_variable("this");
  if (self == nullptr) {
    error(range, "`this` exists in methods only");
    return wrong(range);
  }
  return read_variable(self, range);
}

bool NameChecker::this_has_field(std::string_view name) {
  std::uint32_t index = 0;
  return state_.self != nullptr && analysis_.find_field(state_.self->type, name, index) != nullptr;
}

Method NameChecker::this_method(std::string_view name) {
  return state_.self != nullptr ? analysis_.find_method(*state_.self, name) : Method{};
}

hir::Expr* NameChecker::name_expr(const ast::Expr& expr, const Type* expected) {
  const std::string_view name = expr.name.text;
  if (name.empty()) return wrong(expr.range);
  if (Variable* variable = parts_.scopes.find_variable(name); variable != nullptr) {
    if (state_.in_kernel() && variable->frame != state_.frame) {
      if (E value = parts_.kernel_captures.hoisted(expr); value != nullptr) return value;
    }
    return read_variable(variable, expr.range);
  }
  if (this_has_field(name)) {
    if (state_.in_kernel()) {
      if (E value = parts_.kernel_captures.hoisted(expr); value != nullptr) return value;
    }
    std::uint32_t index = 0;
    analysis_.find_field(state_.self->type, name, index);
    return parts_.field_narrowing.refine(parts_.members.field(this_value(expr.range), index, expr.range));
  }
  if (this_method(name).symbol != nullptr) {
    const bool is_nullable = expected != nullptr && expected->is(TypeKind::kNullable);
    const Type* wanted = is_nullable ? expected->element : expected;
    if (wanted != nullptr && wanted->is(TypeKind::kFunction)) {
      E bound = parts_.closures.of_method(this_value(expr.range), name, expr.range);
      if (bound != nullptr) return bound;
    }
    error(expr.range, "'{}' is a method, and a method is no value", name)
        .help("call it: `{}(...)`, or wrap it: `fn(...) => {}(...)`", name, name);
    return wrong(expr.range);
  }
  ModuleSymbols& module = *state_.context.module;
  if (auto function = module.functions.find(name); function != module.functions.end()) {
    return function_value(*function->second, expr, expected);
  }
  if (auto constant = module.constants.find(name); constant != module.constants.end()) {
    return constant_value(*constant->second, expr.range);
  }
  if (primitive_named(expr) != nullptr ||
      analysis_.find_type({}, name, expr.range, state_.context, false) != nullptr) {
    Diagnostic& diagnostic = error(expr.range, "'{}' is a type, and a value is expected here", name);
    const NominalSymbol* symbol = parts_.enums.named(expr);
    if (symbol != nullptr && !symbol->declaration->cases.empty()) {
      diagnostic.help("name a case: `{}.{}`", name, symbol->declaration->cases[0].name.text);
    } else {
      diagnostic.help("construct one: `{}(...)`", name);
    }
    return wrong(expr.range);
  }
  if (module.imports.contains(name)) {
    error(expr.range, "'{}' is a module, and a value is expected here", name)
        .help("name something in it: `{}.something`", name);
    return wrong(expr.range);
  }
  if (BuiltinCalls::is_builtin(name)) {
    error(expr.range, "'{}' is built in and can only be called", name)
        .help("wrap it in a closure: `fn(x) => {}(x)`", name);
    return wrong(expr.range);
  }
  report_unknown(name, expr.range, false);
  return wrong(expr.range);
}

// A function that calls a native one, which cannot be a value itself.
hir::Function* NameChecker::caller_of(FunctionInstance& instance, const Type* result, Range range) {
  hir::Function*& known = analysis_.caller_of(instance);
  if (known != nullptr) return known;
  hir::Function& function = analysis_.program().function_arena.emplace_back();
  function.name = std::string(instance.symbol->name());
  if (!instance.symbol->module->name.empty())
    function.name = instance.symbol->module->name + "." + function.name;
  function.position = analysis_.position(range);
  function.result = result;
  std::vector<E> arguments;
  for (const Type* type : instance.parameters) {
    function.parameters.push_back(temporary(type));
    arguments.push_back(read(function.parameters.back(), range));
  }
  const hir::StmtKind kind = result->is(TypeKind::kVoid) ? hir::StmtKind::kExpr : hir::StmtKind::kReturn;
  function.body.push_back(analysis_.make(kind, range));
  function.body.back()->value = parts_.calls.call_instance(instance, std::move(arguments), range);
  analysis_.program().functions.push_back(&function);
  return known = &function;
}

hir::Expr* NameChecker::function_value(FunctionSymbol& symbol, const ast::Expr& expr, const Type* expected) {
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
        parts_.inference.unify(declaration.parameters[i].type, expected->parameters[i], inference);
      }
      if (declaration.result != nullptr)
        parts_.inference.unify(declaration.result, expected->result, inference);
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
  const bool is_native = declaration.linkage != ast::Linkage::kSource;
  if (is_native && symbol.module->name == "atomic") {
    error(expr.range, "'{}' changes an element and can only be called", symbol.name())
        .help("wrap it in a closure: `fn(x) => {}(x)`", symbol.name());
    return wrong(expr.range);
  }
  FunctionInstance& instance = analysis_.instantiate(symbol, nullptr, std::move(arguments), expr.range);
  if (takes_fixed_arrays(instance.parameters)) {
    error(expr.range, "'{}' has a fixed array as parameter and can only be called", symbol.name());
    return wrong(expr.range);
  }
  const Type* result = analysis_.result_of(instance, expr.range);
  for (const Type* parameter : instance.parameters) {
    if (parameter->is(TypeKind::kError)) return wrong(expr.range);
  }
  if (result->is(TypeKind::kError)) return wrong(expr.range);
  analysis_.loops_call_values();
  E value = make(ExprKind::kFunctionValue, types().function(instance.parameters, result), expr.range);
  value->function = is_native ? caller_of(instance, result, expr.range) : analysis_.use(instance);
  return value;
}

hir::Expr* NameChecker::constant_value(ConstantSymbol& symbol, Range range) {
  const hir::Expr* value = analysis_.constants().value_of(symbol, range);
  if (value == nullptr) return wrong(range);
  if (symbol.maker != nullptr) {
    E made = analysis_.make(ExprKind::kCall, value->type, range);
    made->function = symbol.maker;
    return made;
  }
  E copy = make(value->kind, value->type, range);
  copy->integer = value->integer;
  copy->number = value->number;
  copy->text = value->text;
  return copy;
}

hir::Expr* NameChecker::shared_constant(E value) {
  if (analysis_.constants().array_of(*value) == nullptr) return value;
  Frame* whole = state_.frame;
  while (whole->outer != nullptr) whole = whole->outer;
  if (whole->function == nullptr) return value;
  const Range range = analysis_.range_of(value);
  Variable*& shared = state_.shared_constants[value->function];
  if (shared == nullptr) {
    Frame* const here = std::exchange(state_.frame, whole);
    shared = parts_.scopes.declare_hidden({}, value->type, VariableKind::kLet, range);
    state_.frame = here;
    shared->local->name = value->function->name;
    state_.first_statements.push_back(let(shared->local, value));
  }
  return read_variable(shared, range);
}

hir::Expr* NameChecker::shared_rows(E value) {
  if (value->kind != ExprKind::kIndex) return shared_constant(value);
  E row = value;
  while (row->operands[0]->kind == ExprKind::kIndex) row = row->operands[0];
  row->operands[0] = shared_constant(row->operands[0]);
  return value;
}

hir::Expr* NameChecker::shared_matrix(E rows) {
  const hir::Expr* literal = analysis_.constants().array_of(*rows);
  if (literal == nullptr || literal->operands.empty()) return nullptr;
  const Type* row = rows->type->element;
  if (!row->is(TypeKind::kArray) || !analysis_.is_plain(row->element)) return nullptr;
  // -1 if it is unknown.
  const auto length_of = [&](const hir::Expr* part) -> std::ptrdiff_t {
    if (part->kind == ExprKind::kCall) part = analysis_.constants().array_of(*part);
    if (part == nullptr || part->kind != ExprKind::kArrayLiteral) return -1;
    return static_cast<std::ptrdiff_t>(part->operands.size());
  };
  const std::ptrdiff_t length = length_of(literal->operands[0]);
  const auto is_alike = [&](const hir::Expr* part) { return length_of(part) == length; };
  if (length < 0 || !std::ranges::all_of(literal->operands, is_alike)) return nullptr;
  Frame* whole = state_.frame;
  while (whole->outer != nullptr) whole = whole->outer;
  if (whole->function == nullptr) return nullptr;
  const Range range = analysis_.range_of(rows);
  Variable*& shared = state_.shared_matrices[rows->function];
  if (shared == nullptr) {
    Frame* const here = std::exchange(state_.frame, whole);
    hir::Local* const given = shared_constant(rows)->local;
    const Type* type = types().array(row->element, 2);
    shared = parts_.scopes.declare_hidden({}, type, VariableKind::kLet, range);
    shared->local->name = rows->function->name;
    const auto size = [&](std::size_t n) { return integer(n, basic(TypeKind::kI64), range); };
    const auto columns = static_cast<std::size_t>(length);
    Body& first = state_.first_statements;
    first.push_back(let(shared->local, make(ExprKind::kNewArray, type, range,
                                            {size(literal->operands.size()), size(columns)})));
    first.push_back(count_loop(size(literal->operands.size()), range, [&](E i) {
      return Body{count_loop(size(columns), range, [&](E j) {
        E to = make(ExprKind::kIndex, row->element, range,
                    {read(shared->local, range), read(i->local, range), read(j->local, range)});
        E from = make(ExprKind::kIndex, row, range, {read(given, range), read(i->local, range)});
        E element = make(ExprKind::kIndex, row->element, range, {from, read(j->local, range)});
        return Body{assign(to, element, range)};
      })};
    }));
    state_.frame = here;
  }
  return read_variable(shared, range);
}

ModuleSymbols* NameChecker::module_named(const ast::Expr& expr) {
  if (expr.kind != ast::ExprKind::kName) return nullptr;
  const std::string_view name = expr.name.text;
  ModuleSymbols* module = analysis_.find_module(name, *state_.context.module);
  if (module == nullptr || parts_.scopes.find_variable(name) != nullptr || this_has_field(name))
    return nullptr;
  return module;
}

std::vector<std::string> NameChecker::visible_names() {
  std::vector<std::string> names;
  for (const Frame* frame = state_.frame; frame != nullptr; frame = frame->outer) {
    for (const auto& scope : frame->scopes) {
      for (const Variable* variable : scope) {
        if (!variable->name.empty()) names.emplace_back(variable->name);
      }
    }
  }
  if (state_.self != nullptr) {
    for (const FieldInfo& known : state_.self->type->fields) names.push_back(known.name);
    for (std::string_view name : analysis_.names_of_methods(*state_.self)) names.emplace_back(name);
  }
  for (const auto& [name, symbol] : state_.context.module->functions) names.emplace_back(name);
  for (const auto& [name, symbol] : state_.context.module->constants) names.emplace_back(name);
  for (const auto& [name, symbol] : state_.context.module->imports) names.emplace_back(name);
  for (const char* builtin : {"print", "trap", "assert", "str", "hash", "equal"}) names.emplace_back(builtin);
  return names;
}

void NameChecker::report_unknown(std::string_view name, Range range, bool called) {
  Diagnostic& diagnostic =
      state_.constant.empty()
          ? error(range, "no {} '{}' here", called ? "function" : "variable", name)
          : error(range, "no constant '{}' here: {} must be constant", name, state_.constant);
  for (const auto& [module_name, module] : state_.context.module->imports) {
    if (module->functions.contains(name) || module->constants.contains(name)) {
      diagnostic.help("write `{}.{}`", module_name, name);
      return;
    }
  }
  for (const auto& [type_name, type] : state_.context.module->types) {
    for (const ast::EnumCase& option : type->declaration->cases) {
      if (option.name.text != name) continue;
      diagnostic.help("write `{}.{}`", type_name, name);
      return;
    }
  }
  std::string_view near = value_for_foreign(name);
  std::string_view advice = called ? advice_for_foreign(fmt::format("{}()", name)) : std::string_view();
  if (advice.empty()) advice = advice_for_foreign(name);
  if (!advice.empty()) {
    diagnostic.help("{}", advice);
    return;
  }
  const bool has_member = is_followed_by_member(analysis_.diagnostics().sources(), range);
  const std::string_view foreign = has_member ? module_for_foreign(name) : std::string_view();
  if (!foreign.empty()) {
    diagnostic.help("write `{}`, with `import {};` at the top of the file", foreign, foreign);
    return;
  }
  if (has_member && is_library_module(name)) {
    diagnostic.help("add `import {};` at the top of the file", name);
    return;
  }
  if (called && near.empty() && is_name_of_type(type_for_foreign(name))) {
    name = type_for_foreign(name);
    diagnostic.help("write `{}`", name);
  }
  const std::string_view module = near.empty() ? library_module_of(name) : std::string_view();
  if (!module.empty() && !is_known_module(module) && !state_.context.module->imports.contains(module)) {
    // Types need no qualifier, and start with a capital letter.
    if (module == name || (name[0] >= 'A' && name[0] <= 'Z')) {
      diagnostic.help("add `import {};` at the top of the file", module);
    } else {
      diagnostic.help("write `{}.{}`, with `import {};` at the top of the file", module, name, module);
    }
    return;
  }
  std::vector<std::string> names;
  std::vector<std::string_view> views;
  if (near.empty()) {
    names = visible_names();
    for (std::string& type : analysis_.names_of_types(state_.context)) names.push_back(std::move(type));
    views.assign(names.begin(), names.end());
    near = nearest_name(name, views);
  }
  if (!near.empty()) diagnostic.help("write `{}`", near);
  if (near.empty() && state_.constant == kFixedArraySize)
    diagnostic.help("declare it, `const {} = ...;`; an array whose size is known later is made by `[T]({})`",
                    name, name);
  // A name without similar ones is reported once per block.
  if (near.empty() && !called && state_.constant.empty() && !state_.frame->scopes.empty())
    parts_.scopes.declare_hidden(name, error_type(), VariableKind::kVar, range);
}

const Type* NameChecker::primitive_named(const ast::Expr& expr) {
  if (expr.kind != ast::ExprKind::kName) return nullptr;
  const std::string_view name = expr.name.text;
  const Type* type = find_binding(state_.context.bindings, name);
  for (TypeKind kind :
       {TypeKind::kBool, TypeKind::kI8, TypeKind::kU8, TypeKind::kI16, TypeKind::kU16, TypeKind::kI32,
        TypeKind::kU32, TypeKind::kI64, TypeKind::kU64, TypeKind::kF32, TypeKind::kF64}) {
    if (type == nullptr && basic(kind)->name == name) type = basic(kind);
  }
  if (parts_.scopes.find_variable(name) != nullptr) return nullptr;
  if (type != nullptr || this_has_field(name)) return type;
  NominalSymbol* alias = analysis_.find_type({}, name, expr.range, state_.context, false);
  if (alias == nullptr || !alias->is_alias() || !alias->declaration->type_parameters.empty()) return nullptr;
  type = analysis_.instantiate(*alias, {}, expr.range);
  return type->is_primitive() ? type : nullptr;
}

}  // namespace dhpvm::compiler
