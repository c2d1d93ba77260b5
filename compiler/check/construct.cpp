// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/construct.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* Construction::construct(NominalSymbol& symbol, const ast::Expr& call, const Type* expected) {
  if (symbol.is_alias()) return construct_alias(symbol, call, expected);
  const ast::TypeDecl& declaration = *symbol.declaration;
  if (declaration.kind == ast::TypeDeclKind::kInterface) {
    parts_.argument_matching.check_all(call);
    error(call.operands[0]->range, "'{}' is an interface and has no objects of its own", symbol.name())
        .note(declaration.name.range, "'{}' is declared here", symbol.name())
        .help("construct a class that implements it");
    return wrong(call.range);
  }
  if (declaration.kind == ast::TypeDeclKind::kEnum) {
    parts_.argument_matching.check_all(call);
    Diagnostic& diagnostic =
        error(call.operands[0]->range, "'{}' is an enum: a case of it makes a value", symbol.name());
    if (!declaration.cases.empty())
      diagnostic.help("write for example `{}.{}`", symbol.name(), declaration.cases[0].name.text);
    return wrong(call.range);
  }
  std::vector<const Type*> type_arguments;
  std::vector<E> ready;
  if (!call.type_arguments.empty()) {
    if (!parts_.inference.resolve_all(call.type_arguments, type_arguments)) {
      parts_.argument_matching.check_all(call);
      return wrong(call.range);
    }
  } else if (!declaration.type_parameters.empty()) {
    Inference inference = parts_.inference.of_new(symbol, expected);
    Callee callee;
    callee.name = symbol.name();
    callee.declared = declaration.name.range;
    callee.has_declaration = true;
    std::vector<const ast::Type*> patterns;
    if (declaration.init != nullptr) {
      for (const ast::Parameter& parameter : declaration.init->parameters) {
        callee.parameters.push_back({parameter.name.text, nullptr, parameter.fallback,
                                     parameter.fallback != nullptr, parameter.range});
        patterns.push_back(parameter.type);
      }
    } else {
      for (const ast::Field& field : declaration.fields) {
        const bool optional = field.fallback != nullptr || field.type->kind == ast::TypeKind::kNullable;
        callee.parameters.push_back({field.name.text, nullptr, field.fallback, optional, field.range});
        patterns.push_back(field.type);
      }
    }
    if (!parts_.inference.infer(inference, callee, patterns, nullptr, call, nullptr, ready))
      return wrong(call.range);
    type_arguments = std::move(inference.arguments);
  }
  const Type* type = analysis_.instantiate(symbol, std::move(type_arguments), call.range);
  if (type->is(TypeKind::kError)) {
    if (ready.empty()) parts_.argument_matching.check_all(call);
    return wrong(call.range);
  }
  return construct_type(type, call, &ready);
}

hir::Expr* Construction::construct_alias(NominalSymbol& symbol, const ast::Expr& call, const Type* expected) {
  const Type* type = parts_.inference.of_alias(symbol, call.type_arguments, expected, call.range);
  if (type == nullptr) {
    parts_.argument_matching.check_all(call);
    return wrong(call.range);
  }
  const bool is_made_by_call = analysis_.nominal(type) != nullptr && !analysis_.errors().is_result(type) &&
                               !analysis_.tuples().is_tuple(type);
  if (is_made_by_call && type->is(TypeKind::kInterface))
    return construct(*analysis_.nominal(type)->symbol, call, expected);
  if (is_made_by_call) return construct_type(type, call, nullptr);
  parts_.argument_matching.check_all(call);
  Diagnostic& diagnostic =
      error(call.operands[0]->range, "'{}' is '{}', which is not made by a call", symbol.name(), type->name);
  if (type->is(TypeKind::kArray)) {
    diagnostic.help("write `{}(n)`", type->name);
  } else if (type->is(TypeKind::kWeak)) {
    diagnostic.help("write `{}(x)`", type->name);
  }
  return wrong(call.range);
}

hir::Expr* Construction::construct_type(const Type* type, const ast::Expr& call,
                                        const std::vector<E>* ready) {
  Nominal& nominal = *analysis_.nominal(type);
  if (type->is_enum) return construct(*nominal.symbol, call, type);
  analysis_.complete(nominal);
  const ast::TypeDecl& declaration = *nominal.symbol->declaration;
  std::vector<hir::Stmt*> before;
  std::vector<E> values;
  if (nominal.symbol->init != nullptr) {
    FunctionInstance& init = analysis_.instantiate(*nominal.symbol->init, &nominal, {}, call.range);
    if (init.state == FunctionInstance::State::kSignature) return wrong(call.range);
    Callee callee = CallChecker::callee_of(init);
    callee.name = type->name;
    if (!parts_.argument_matching.arguments(callee, call, ready, before, values)) return wrong(call.range);
    if (analysis_.errors().is_error(type)) parts_.results.locate(values, call.range);
    ++state_.moment;
    E made = make(ExprKind::kNew, type, call.range);
    bool good = true;
    for (std::size_t i = 0; i < declaration.fields.size(); ++i) {
      const ast::Field& field = declaration.fields[i];
      const Type* field_type = type->fields[i].type;
      E first = field.fallback != nullptr
                    ? parts_.argument_matching.fallback_value(*field.fallback, field_type, nominal.context)
                    : make(ExprKind::kZero, field_type, call.range);
      good = good && !first->type->is(TypeKind::kError);
      made->operands.push_back(first);
    }
    if (!good) return wrong(call.range);
    made->arguments = std::move(values);
    made->function = analysis_.use(init);
    return in_block(std::move(before), made, call.range);
  }
  Callee callee;
  callee.name = type->name;
  callee.fallback_context = nominal.context;
  callee.declared = declaration.name.range;
  callee.has_declaration = true;
  for (std::size_t i = 0; i < declaration.fields.size(); ++i) {
    const ast::Field& field = declaration.fields[i];
    const Type* field_type = type->fields[i].type;
    const bool optional = field.fallback != nullptr || field_type->is(TypeKind::kNullable);
    callee.parameters.push_back({field.name.text, field_type, field.fallback, optional, field.range});
  }
  if (!parts_.argument_matching.arguments(callee, call, ready, before, values)) return wrong(call.range);
  const ExprKind kind = type->is(TypeKind::kStruct) ? ExprKind::kMakeStruct : ExprKind::kNew;
  return in_block(std::move(before), make(kind, type, call.range, std::move(values)), call.range);
}

hir::Expr* Construction::construct_weak(const ast::Expr& call, const Type* expected) {
  if (!parts_.argument_matching.expect_arguments(call, 1, 1, "Weak<T>(object)")) return wrong(call.range);
  const Type* element = nullptr;
  if (!call.type_arguments.empty()) {
    std::vector<const Type*> type_arguments;
    if (!parts_.inference.resolve_all(call.type_arguments, type_arguments)) return wrong(call.range);
    element = type_arguments[0];
  } else if (expected != nullptr) {
    if (expected->is(TypeKind::kNullable)) expected = expected->element;
    if (expected->is(TypeKind::kWeak)) element = expected->element;
  }
  E object = element != nullptr ? parts_.conversions.value_as(*call.arguments[0].value, element)
                                : parts_.conversions.value(*call.arguments[0].value);
  if (object->type->is(TypeKind::kError)) return object;
  if (element == nullptr) element = object->type;
  if (call.type_arguments.size() > 1 || element->is_enum ||
      !(element->is(TypeKind::kClass) || element->is(TypeKind::kInterface))) {
    error(call.range, "a weak reference refers to an object of a class or interface, not to '{}'",
          element->name);
    return wrong(call.range);
  }
  return make(ExprKind::kNewWeak, types().weak(element), call.range, {object});
}

}  // namespace dhpvm::compiler
