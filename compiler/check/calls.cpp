// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/calls.h"

#include <algorithm>

#include "base/spelling.h"
#include "compiler/check/body_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* CallChecker::call_expr(const ast::Expr& expr, const Type* expected) {
  const ast::Expr& callee = *expr.operands[0];
  if (callee.kind == ast::ExprKind::kName) return call_name(expr, expected);
  if (callee.kind == ast::ExprKind::kMember) return call_member(expr, expected);
  return call_value(parts_.conversions.value(callee), expr);
}

hir::Expr* CallChecker::call_name(const ast::Expr& expr, const Type* expected) {
  const ast::Expr& callee = *expr.operands[0];
  const std::string_view name = callee.name.text;
  if (name.empty()) {
    parts_.argument_matching.check_all(expr);
    return wrong(expr.range);
  }
  if (parts_.scopes.find_variable(name) != nullptr || parts_.names.this_has_field(name))
    return call_value(parts_.names.name_expr(callee, nullptr), expr);
  const Method method = parts_.names.this_method(name);
  // In a method `hash()`, `hash(field)` calls the built-in function.
  const bool means_builtin = method.symbol != nullptr && BuiltinCalls::is_builtin(name) &&
                             method.symbol->declaration->parameters.empty() && !expr.arguments.empty();
  if (method.symbol != nullptr && !means_builtin) {
    if (state_.in_init_frame()) parts_.init_fields.require_initialised(callee.range, "a method is called");
    E self = parts_.kernel_captures.receiver([&] { return parts_.names.this_value(callee.range); });
    return self->type->is(TypeKind::kInterface) ? call_interface(self, callee, expr)
                                                : call_method_of(self, method, expr, expected);
  }
  ModuleSymbols& module = *state_.context.module;
  if (auto function = module.functions.find(name); function != module.functions.end()) {
    return call_function(*function->second, expr, expected);
  }
  if (const Type* bound = find_binding(state_.context.bindings, name);
      bound != nullptr && analysis_.nominal(bound) != nullptr) {
    return parts_.construction.construct_type(bound, expr, nullptr);
  }
  if (name == "Weak") return parts_.construction.construct_weak(expr, expected);
  if (parts_.names.primitive_named(callee) == nullptr && !(name == "str" && !module.types.contains(name))) {
    if (NominalSymbol* type = analysis_.find_type({}, name, callee.range, state_.context, false);
        type != nullptr) {
      return parts_.construction.construct(*type, expr, expected);
    }
  }
  if (BuiltinCalls::is_builtin(name)) return parts_.builtins.call_builtin(name, expr);
  parts_.argument_matching.check_all(expr);
  if (const Type* type = parts_.names.primitive_named(callee); type != nullptr) {
    error(callee.range, "'{}' is a type and cannot be called", name)
        .help("convert with `x as {}`", type->name);
  } else if (auto constant = module.constants.find(name); constant != module.constants.end()) {
    error(callee.range, "'{}' is a constant and cannot be called", name);
  } else {
    parts_.names.report_unknown(name, callee.range, true);
  }
  return wrong(expr.range);
}

hir::Expr* CallChecker::call_member(const ast::Expr& expr, const Type* expected) {
  const ast::Expr& callee = *expr.operands[0];
  const ast::Expr& object_expr = *callee.operands[0];
  if (callee.safe) return parts_.members.safe_member(callee, &expr);
  if (ModuleSymbols* module = parts_.names.module_named(object_expr); module != nullptr) {
    return call_module(*module, callee, expr, expected);
  }
  if (object_expr.kind == ast::ExprKind::kName && parts_.names.primitive_named(object_expr) != nullptr) {
    parts_.argument_matching.check_all(expr);
    error(callee.range, "'{}' is a type, and types have no functions", object_expr.name.text)
        .help("write `x as {}` for a number, `text.parse_int()` or `text.parse_float()` for text",
              object_expr.name.text);
    return wrong(expr.range);
  }
  if (NominalSymbol* symbol = parts_.enums.named(object_expr); symbol != nullptr)
    return parts_.enums.call(*symbol, callee, expr, expected);
  if (object_expr.kind == ast::ExprKind::kName &&
      parts_.scopes.find_variable(object_expr.name.text) == nullptr &&
      !parts_.names.this_has_field(object_expr.name.text) &&
      analysis_.find_type({}, object_expr.name.text, object_expr.range, state_.context, false) != nullptr) {
    parts_.argument_matching.check_all(expr);
    Diagnostic& problem =
        error(callee.range, "'{}' is a type, and types have no functions", object_expr.name.text);
    if (is_constructor_word(callee.name.text)) {
      problem.help("make an object by calling it: `{}(...)`", object_expr.name.text);
    } else {
      problem.help("declare `fn {}(...)` at the top level of the file, and call it by its name",
                   callee.name.text);
    }
    return wrong(expr.range);
  }
  E object = parts_.kernel_captures.receiver([&] { return parts_.members.receiver(object_expr); });
  return call_method(object, callee, expr, expected);
}

hir::Expr* CallChecker::call_module(ModuleSymbols& module, const ast::Expr& member, const ast::Expr& call,
                                    const Type* expected) {
  const std::string_view name = member.name.text;
  if (auto function = module.functions.find(name); function != module.functions.end()) {
    return call_function(*function->second, call, expected);
  }
  if (auto type = module.types.find(name); type != module.types.end()) {
    return parts_.construction.construct(*type->second, call, expected);
  }
  parts_.argument_matching.check_all(call);
  parts_.members.report_missing_in_module(module, member.operands[0]->name.text, member.name);
  return wrong(call.range);
}

hir::Expr* CallChecker::call_method(E object, const ast::Expr& member, const ast::Expr& call,
                                    const Type* expected) {
  const Type* type = object->type;
  const ast::Name& name = member.name;
  switch (type->kind) {
    case TypeKind::kError: parts_.argument_matching.check_all(call); return wrong(call.range);
    case TypeKind::kStruct:
      if (analysis_.errors().is_result(type)) {
        parts_.argument_matching.check_all(call);
        parts_.results.explain(error(name.range, "this may be an error: it is a '{}'", type->name), type,
                               member.operands[0]->range);
        return wrong(call.range);
      }
      [[fallthrough]];
    case TypeKind::kClass: {
      const Method method = analysis_.find_method(*analysis_.nominal(type), name.text);
      if (method.symbol != nullptr) {
        if (state_.in_init_frame() && object->kind == ExprKind::kLocal && object->local->name == "this") {
          parts_.init_fields.require_initialised(member.range, "a method is called");
        }
        return call_method_of(object, method, call, expected);
      }
      std::uint32_t index = 0;
      if (const FieldInfo* info = analysis_.find_field(type, name.text, index);
          info != nullptr && info->type->is(TypeKind::kFunction)) {
        return call_value(parts_.members.field(object, index, member.range), call);
      }
      break;
    }
    case TypeKind::kInterface: {
      if (E made = call_interface(object, member, call); made != nullptr) return made;
      break;
    }
    case TypeKind::kArray: {
      if (E made = parts_.array_methods.array_method(object, member, call); made != nullptr) return made;
      if (E made = call_library_method(object, member, call, expected); made != nullptr) return made;
      break;
    }
    case TypeKind::kStr:
    case TypeKind::kU8:
      if (E made = call_library_method(object, member, call, expected); made != nullptr) return made;
      break;
    case TypeKind::kWeak:
      if (name.text == "get") {
        if (!parts_.argument_matching.expect_arguments(call, 0, 0, "get()")) return wrong(call.range);
        return make(ExprKind::kGetWeak, types().nullable(type->element), call.range, {object});
      }
      break;
    case TypeKind::kNullable:
      parts_.argument_matching.check_all(call);
      parts_.narrowing.report_null_member(type, name, member.operands[0]->range, "(...)");
      return wrong(call.range);
    default: break;
  }
  parts_.argument_matching.check_all(call);
  if (parts_.members.report_hidden_module(*member.operands[0], name)) return wrong(call.range);
  parts_.members.report_missing_member(type, name, true);
  return wrong(call.range);
}

hir::Expr* CallChecker::call_interface(E object, const ast::Expr& member, const ast::Expr& call) {
  const Type* type = object->type;
  Nominal& nominal = *analysis_.nominal(type);
  analysis_.complete(nominal);
  for (std::uint32_t i = 0; i < type->methods.size(); ++i) {
    const MethodInfo& method = type->methods[i];
    if (method.name != member.name.text) continue;
    const ast::Function& declaration = *nominal.symbol->declaration->methods[i];
    Callee callee;
    callee.name = type->name + "." + method.name;
    callee.fallback_context = nominal.context;
    callee.declared = declaration.name.range;
    callee.has_declaration = true;
    for (std::size_t p = 0; p < method.parameters.size(); ++p) {
      const ast::Parameter& parameter = declaration.parameters[p];
      callee.parameters.push_back({parameter.name.text, method.parameters[p], parameter.fallback,
                                   parameter.fallback != nullptr, parameter.range});
    }
    if (!call.type_arguments.empty()) error(call.range, "'{}' takes no type arguments", method.name);
    std::vector<hir::Stmt*> before;
    std::vector<E> values;
    if (!parts_.argument_matching.arguments(callee, call, nullptr, before, values)) return wrong(call.range);
    if (!before.empty()) {
      std::vector<hir::Stmt*> first;
      object = stable(object, first);
      before.insert(before.begin(), first.begin(), first.end());
    }
    values.insert(values.begin(), object);
    E made = make(ExprKind::kCallInterface, method.result, call.range, std::move(values));
    made->index = i;
    return in_block(std::move(before), made, call.range);
  }
  return nullptr;
}

Callee CallChecker::callee_of(const FunctionInstance& instance) {
  const ast::Function& declaration = *instance.symbol->declaration;
  Callee callee;
  callee.name = instance.function != nullptr ? instance.function->name : std::string(instance.symbol->name());
  callee.fallback_context = instance.context;
  callee.declared = declaration.name.empty() ? declaration.range : declaration.name.range;
  callee.has_declaration = true;
  for (std::size_t i = 0; i < declaration.parameters.size(); ++i) {
    const ast::Parameter& parameter = declaration.parameters[i];
    callee.parameters.push_back({parameter.name.text, instance.parameters[i], parameter.fallback,
                                 parameter.fallback != nullptr, parameter.range});
  }
  return callee;
}

// The instance for type arguments that are written or inferred. Null after a diagnostic.
FunctionInstance* CallChecker::instance_for(FunctionSymbol& symbol, Nominal* owner, const ast::Expr& call,
                                            const Type* expected, std::vector<E>& ready) {
  const ast::Function& declaration = *symbol.declaration;
  const std::size_t wanted = declaration.type_parameters.size();
  std::vector<const Type*> type_arguments;
  if (!call.type_arguments.empty()) {
    if (!parts_.inference.resolve_all(call.type_arguments, type_arguments)) {
      parts_.argument_matching.check_all(call);
      return nullptr;
    }
    if (type_arguments.size() != wanted) {
      error(call.range, "'{}' takes {} type argument{}, not {}", symbol.name(), wanted,
            wanted == 1 ? "" : "s", type_arguments.size())
          .note(declaration.name.range, "'{}' is declared here", symbol.name());
      parts_.argument_matching.check_all(call);
      return nullptr;
    }
  } else if (wanted != 0) {
    Inference inference;
    inference.parameters = &declaration.type_parameters;
    inference.arguments.resize(wanted);
    inference.context.module = symbol.module;
    if (owner != nullptr) inference.context.bindings = owner->context.bindings;
    Callee callee;
    callee.name = symbol.name();
    callee.has_receiver = !ready.empty();
    callee.declared = declaration.name.range;
    callee.has_declaration = true;
    std::vector<const ast::Type*> patterns;
    for (const ast::Parameter& parameter : declaration.parameters) {
      callee.parameters.push_back(
          {parameter.name.text, nullptr, parameter.fallback, parameter.fallback != nullptr, parameter.range});
      patterns.push_back(parameter.type);
    }
    if (!parts_.inference.infer(inference, callee, patterns, declaration.result, call, expected, ready))
      return nullptr;
    type_arguments = std::move(inference.arguments);
  }
  return &analysis_.instantiate(symbol, owner, std::move(type_arguments), call.range);
}

hir::Expr* CallChecker::call_method_of(E object, Method method, const ast::Expr& call, const Type* expected) {
  if (object->type->is(TypeKind::kError)) {
    parts_.argument_matching.check_all(call);
    return wrong(call.range);
  }
  object = parts_.conversions.coerce(object, method.owner->type, call.range);
  std::vector<E> ready;
  FunctionInstance* instance = instance_for(*method.symbol, method.owner, call, expected, ready);
  if (instance == nullptr) return wrong(call.range);
  std::vector<hir::Stmt*> before;
  std::vector<E> values;
  if (!parts_.argument_matching.arguments(callee_of(*instance), call, &ready, before, values))
    return wrong(call.range);
  if (!before.empty()) {
    std::vector<hir::Stmt*> first;
    object = stable(object, first);
    before.insert(before.begin(), first.begin(), first.end());
  }
  values.insert(values.begin(), object);
  return in_block(std::move(before), call_instance(*instance, std::move(values), call.range), call.range);
}

// `text.upper()` is `str.upper(text)`: null if the library has no such function.
hir::Expr* CallChecker::call_library_method(E object, const ast::Expr& member, const ast::Expr& call,
                                            const Type* expected) {
  FunctionSymbol* function = analysis_.library_method(object->type, member.name.text);
  if (function == nullptr) return nullptr;
  ast::Expr whole = call;
  whole.arguments.insert(whole.arguments.begin(), {ast::Name{}, member.operands[0]});
  return call_function(*function, whole, expected, {object});
}

hir::Expr* CallChecker::call_function(FunctionSymbol& symbol, const ast::Expr& call, const Type* expected,
                                      std::vector<E> ready) {
  if (symbol.declaration->linkage == ast::Linkage::kIntrinsic && symbol.module->name == "atomic") {
    return parts_.intrinsics.atomic_call(symbol, call);
  }
  const bool has_receiver = !ready.empty();
  FunctionInstance* instance = instance_for(symbol, nullptr, call, expected, ready);
  if (instance == nullptr) return wrong(call.range);
  std::vector<hir::Stmt*> before;
  std::vector<E> values;
  Callee callee = callee_of(*instance);
  callee.has_receiver = has_receiver;
  if (!parts_.argument_matching.arguments(callee, call, &ready, before, values)) return wrong(call.range);
  return in_block(std::move(before), call_instance(*instance, std::move(values), call.range), call.range);
}

hir::Expr* CallChecker::call_instance(FunctionInstance& instance, std::vector<E> arguments, Range range) {
  const ast::Function& declaration = *instance.symbol->declaration;
  if (declaration.linkage == ast::Linkage::kIntrinsic)
    return parts_.intrinsics.intrinsic(instance, arguments, range);
  const Type* result = analysis_.result_of(instance, range);
  if (result->is(TypeKind::kError)) return wrong(range);
  if (declaration.linkage == ast::Linkage::kExtern) {
    hir::Native* native = analysis_.native(instance);
    if (analysis_.errors().is_result(result))
      return parts_.results.native_call(*native, result, std::move(arguments), range);
    const unsigned before = state_.moment;
    E made = make(ExprKind::kCallNative, result, range, std::move(arguments));
    made->native = native;
    if (instance.symbol->module->module->is_stdlib)
      state_.moment = before;  // it calls nothing of the program
    return made;
  }
  E made = make(ExprKind::kCall, result, range, std::move(arguments));
  made->function = analysis_.use(instance);
  return made;
}

// Adds help if a variable has the name of a function or method.
void CallChecker::explain_hidden_function(Diagnostic& diagnostic, const ast::Expr& callee) {
  if (callee.kind != ast::ExprKind::kName) return;
  const std::string_view name = callee.name.text;
  const Variable* variable = parts_.scopes.find_variable(name);
  if (variable == nullptr) return;
  const bool is_method = parts_.names.this_method(name).symbol != nullptr;
  if (!is_method && !state_.context.module->functions.contains(name) && !BuiltinCalls::is_builtin(name))
    return;
  diagnostic.note(variable->range, "this variable hides the {} '{}'", is_method ? "method" : "function", name)
      .help("give the variable another name{}",
            is_method ? fmt::format(", or write `this.{}(...)`", name) : "");
}

hir::Expr* CallChecker::call_value(E function, const ast::Expr& call) {
  const Type* type = function->type;
  if (!type->is(TypeKind::kFunction)) {
    parts_.argument_matching.check_all(call);
    if (type->is(TypeKind::kNullable) && type->element->is(TypeKind::kFunction)) {
      parts_.narrowing.explain_null(error(call.operands[0]->range, "this '{}' may be null", type->name),
                                    call.operands[0]->range, "trap on null: `f!(...)`");
    } else if (!type->is(TypeKind::kError)) {
      Diagnostic& diagnostic = error(call.operands[0]->range, "a '{}' cannot be called", type->name);
      if (call.operands[0]->kind == ast::ExprKind::kArrayLiteral) {
        diagnostic.help(
            "in brackets stands the type of the elements: `[f64](n)`, or `[f64, 2](rows, cols)` for rows of "
            "one "
            "length");
      }
      explain_hidden_function(diagnostic, *call.operands[0]);
    }
    return wrong(call.range);
  }
  Callee callee;
  callee.name = type->name;
  for (const Type* parameter : type->parameters)
    callee.parameters.push_back({{}, parameter, nullptr, false, {}});
  std::vector<hir::Stmt*> before;
  std::vector<E> values;
  if (!parts_.argument_matching.arguments(callee, call, nullptr, before, values)) return wrong(call.range);
  values.insert(values.begin(), function);
  return make(ExprKind::kCallClosure, type->result, call.range, std::move(values));
}

const std::vector<const Type*>* CallChecker::parameters_of(const Type* type, std::string_view method,
                                                           Range range) {
  Nominal* nominal = analysis_.nominal(type);
  if (nominal == nullptr) return nullptr;
  analysis_.complete(*nominal);
  for (const MethodInfo& info : type->methods) {
    if (info.name == method) return &info.parameters;
  }
  if (type->is(TypeKind::kInterface)) return nullptr;
  const Method found = analysis_.find_method(*nominal, method);
  if (found.symbol == nullptr || !found.symbol->declaration->type_parameters.empty()) return nullptr;
  return &analysis_.instantiate(*found.symbol, found.owner, {}, range).parameters;
}

// Calls a method that the language knows by name, such as `close`, without syntax. Null if `object` has no method of
// that name and these parameters.
hir::Expr* CallChecker::invoke(E object, std::string_view method, std::vector<E> arguments, Range range) {
  const Type* type = object->type;
  const std::vector<const Type*>* parameters = parameters_of(type, method, range);
  const auto fits = [](const Type* parameter, E argument) { return parameter == argument->type; };
  if (parameters == nullptr || parameters->size() != arguments.size() ||
      !std::equal(parameters->begin(), parameters->end(), arguments.begin(), fits))
    return nullptr;
  arguments.insert(arguments.begin(), object);
  for (std::uint32_t i = 0; i < type->methods.size(); ++i) {
    if (type->methods[i].name != method) continue;
    E made = make(ExprKind::kCallInterface, type->methods[i].result, range, std::move(arguments));
    made->index = i;
    return made;
  }
  const Method found = analysis_.find_method(*analysis_.nominal(type), method);
  arguments[0] = parts_.conversions.coerce(object, found.owner->type, range);
  FunctionInstance& instance = analysis_.instantiate(*found.symbol, found.owner, {}, range);
  return call_instance(instance, std::move(arguments), range);
}

}  // namespace dhpvm::compiler
