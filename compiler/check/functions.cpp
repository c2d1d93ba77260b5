// SPDX-License-Identifier: Apache-2.0
// Instances of functions and methods, and the natives behind `extern` declarations.
#include <algorithm>

#include "compiler/check/analysis.h"
#include "compiler/check/body.h"

namespace dhpvm::compiler {

namespace {

// Whether a native function may have a parameter or result of the type. A struct is passed as its fields, a nullable
// number with a flag.
bool crosses_to_host(Analysis& analysis, const Type* type) {
  switch (type->kind) {
    case TypeKind::kError:
    case TypeKind::kStr:
    case TypeKind::kResource:
    case TypeKind::kArray:
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kFunction: return true;
    case TypeKind::kNullable: return crosses_to_host(analysis, type->element);
    case TypeKind::kStruct:
      analysis.complete(*analysis.nominal(type));
      return !type->is_enum && std::ranges::all_of(type->fields, [&](const FieldInfo& field) {
        return crosses_to_host(analysis, field.type);
      });
    default: return type->is_primitive();
  }
}

}  // namespace

FunctionInstance& Analysis::instantiate(FunctionSymbol& symbol, Nominal* owner,
                                        std::vector<const Type*> arguments, SourceRange range) {
  auto [entry, fresh] = instance_cache_.try_emplace({&symbol, {owner, arguments}}, nullptr);
  if (!fresh) {
    if (entry->second->state == FunctionInstance::State::kSignature) {
      error(symbol.declaration->name.range, "the parameters and the result of '{}' depend on itself",
            symbol.name())
          .note(range, "it is needed here, to compute its own types");
    }
    return *entry->second;
  }
  FunctionInstance& instance = instances_.emplace_back();
  entry->second = &instance;
  const ast::Function& declaration = *symbol.declaration;

  std::string name;
  if (owner != nullptr) {
    name = owner->type->name + ".";
  } else if (!symbol.module->name.empty()) {
    name = symbol.module->name + ".";
  }
  name += declaration.name.text;
  if (!arguments.empty()) {
    name += "<";
    for (std::size_t i = 0; i < arguments.size(); ++i) name += (i == 0 ? "" : ", ") + arguments[i]->name;
    name += ">";
  }
  // Resolving a signature that depends on itself finds these.
  instance.parameters.assign(declaration.parameters.size(), basic(TypeKind::kError));
  instance.result = basic(TypeKind::kError);
  instance.symbol = &symbol;
  instance.owner = owner;
  instance.context.module = symbol.module;
  if (owner != nullptr) instance.context.bindings = owner->context.bindings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    instance.context.bindings.emplace_back(declaration.type_parameters[i].name.text, arguments[i]);
  }
  // A method of a generic class is part of the same instantiation as its class: one level, not two.
  const bool generic = !arguments.empty() || (owner != nullptr && !owner->origin.name.empty());
  instance.origin = make_origin(generic, range, name);

  // A body that is certain to be wrong is not checked.
  const bool stop = too_deep(instance.origin, range) ||
                    !check_bounds(declaration.type_parameters, arguments, instance.context, range);
  Enter enter(*this, instance.origin);
  std::vector<const Type*> parameters;
  parameters.reserve(declaration.parameters.size());
  for (const ast::Parameter& parameter : declaration.parameters) {
    const Type* type = resolve(parameter.type, instance.context);
    const bool is_init = owner != nullptr && &symbol == owner->symbol->init;
    const bool has_body = declaration.linkage == ast::Linkage::kSource && !is_init;
    if (type->is(TypeKind::kFixedArray) && !has_body) {
      error(parameter.type->range, "a fixed array cannot be a parameter of {}",
            is_init ? "`init`" : "a native function")
          .help("use an array: `{}: {}`", parameter.name.text,
                types().array(type->element, type->rank)->name);
      type = basic(TypeKind::kError);
    }
    parameters.push_back(type);
  }
  const bool inferred = declaration.result == nullptr && declaration.expression != nullptr;
  const Type* result = inferred ? nullptr : resolve(declaration.result, instance.context);
  if (result != nullptr && result->is(TypeKind::kFixedArray)) {
    error(declaration.result->range, "a fixed array cannot be a result")
        .help("take it as a parameter, whose elements the function assigns, or give an array: `-> {}`",
              types().array(result->element, result->rank)->name);
    result = basic(TypeKind::kError);
  }
  instance.parameters = std::move(parameters);
  instance.result = result;
  instance.state = FunctionInstance::State::kDeclared;
  if (stop) {
    instance.state = FunctionInstance::State::kDone;
    instance.result = basic(TypeKind::kError);
  }
  if (declaration.linkage != ast::Linkage::kSource) return instance;

  hir::Function& function = program_.function_arena.emplace_back();
  function.name = std::move(name);
  function.position = position(declaration.name.empty() ? declaration.range : declaration.name.range);
  function.result = instance.result;
  instance.function = &function;
  return instance;
}

const Type* Analysis::result_of(FunctionInstance& instance, SourceRange range) {
  if (instance.result != nullptr) return instance.result;
  if (instance.state == FunctionInstance::State::kBusy || nesting > kMaxNesting / 2) {
    error(instance.symbol->declaration->name.range, "the result type of '{}' cannot be inferred",
          instance.symbol->name())
        .note(range, "it is needed here, before the function is checked")
        .help("write the result type: `-> T`");
    instance.result = basic(TypeKind::kError);
    return instance.result;
  }
  use(instance);
  check_body(*this, instance);
  return instance.result;
}

hir::Function* Analysis::use(FunctionInstance& instance) {
  if (instance.function != nullptr && instance.state == FunctionInstance::State::kDeclared) {
    instance.state = FunctionInstance::State::kQueued;
    program_.functions.push_back(instance.function);
    bodies_.push_back(&instance);
  }
  return instance.function;
}

hir::Native* Analysis::native(const std::string& name, std::vector<const Type*> parameters,
                              const Type* result) {
  auto [entry, fresh] = natives_.try_emplace(name, nullptr);
  if (fresh) {
    hir::Native& made = program_.native_arena.emplace_back();
    made.name = name;
    made.parameters = std::move(parameters);
    made.result = result;
    program_.natives.push_back(&made);
    entry->second = &made;
  }
  return entry->second;
}

hir::Native* Analysis::native(FunctionInstance& instance) {
  const ast::Function& declaration = *instance.symbol->declaration;
  for (std::size_t i = 0; i < instance.parameters.size(); ++i) {
    if (!crosses_to_host(*this, instance.parameters[i])) {
      error(declaration.parameters[i].range, "a native function cannot take a '{}'",
            instance.parameters[i]->name)
          .help("pass numbers, bool, str, arrays, objects, functions, or structs of these");
    }
  }
  const Type* result = instance.result;
  const Type* const given = errors_.value_in(result);
  if (given != nullptr) result = given;
  if (!result->is(TypeKind::kVoid) && !crosses_to_host(*this, result)) {
    error(declaration.result->range, "a native function cannot give a '{}'", result->name)
        .help("give a number, bool, str, array, object, function, or a struct of these");
  }
  if (!declaration.type_parameters.empty()) {
    error(declaration.name.range, "a native function cannot be generic");
  }
  std::string name =
      declaration.has_import_name ? declaration.import_name : "host." + std::string(declaration.name.text);
  if (given != nullptr) {
    name += bytecode::kFallibleImport;
    result = errors_.native_result_of(given, declaration.name.range);
  }
  hir::Native* known = native(name, instance.parameters, result);
  if (known->parameters != instance.parameters || known->result != result) {
    error(declaration.name.range, "'{}' is declared elsewhere with another signature", name)
        .note("the other one is `{}`", types().function(known->parameters, known->result)->name);
  }
  return known;
}

namespace {

// Whether the first parameter of a function of `str` or `array` takes a `type`.
bool is_method_of(Analysis& analysis, const FunctionSymbol& function, const Type* type) {
  const ast::Function& declaration = *function.declaration;
  if (declaration.parameters.empty()) return false;
  const ast::Type* first = declaration.parameters[0].type;
  if (function.is_generic())
    return first->kind == ast::TypeKind::kArray && type->is(TypeKind::kArray) && type->rank == first->rank;
  return analysis.resolve(first, {function.module, {}}) == type;
}

}  // namespace

FunctionSymbol* Analysis::library_method(const Type* type, std::string_view name) {
  for (ModuleSymbols* module : method_modules_) {
    const auto found = module->functions.find(name);
    if (found != module->functions.end() && is_method_of(*this, *found->second, type)) return found->second;
  }
  return nullptr;
}

std::vector<std::string_view> Analysis::library_methods(const Type* type) {
  std::vector<std::string_view> names;
  for (ModuleSymbols* module : method_modules_) {
    for (const auto& [name, function] : module->functions) {
      if (is_method_of(*this, *function, type)) names.push_back(name);
    }
  }
  return names;
}

}  // namespace dhpvm::compiler
