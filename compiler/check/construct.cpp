// SPDX-License-Identifier: Apache-2.0
// Construction of structs, classes and weak references; initialisation of fields by `init`.
#include "compiler/check/body.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* BodyChecker::construct(NominalSymbol& symbol, const ast::Expr& call, const Type* expected) {
  const ast::TypeDecl& declaration = *symbol.declaration;
  if (declaration.kind == ast::TypeDeclKind::kInterface) {
    check_all(call);
    error(call.operands[0]->range, "'{}' is an interface and has no objects of its own", symbol.name())
        .note(declaration.name.range, "'{}' is declared here", symbol.name())
        .help("construct a class that implements it");
    return wrong(call.range);
  }
  std::vector<const Type*> type_arguments;
  std::vector<E> ready;
  if (!call.type_arguments.empty()) {
    if (!resolve_all(call.type_arguments, type_arguments)) {
      check_all(call);
      return wrong(call.range);
    }
  } else if (!declaration.type_parameters.empty()) {
    Inference inference;
    inference.parameters = &declaration.type_parameters;
    inference.arguments.resize(declaration.type_parameters.size());
    inference.context.module = symbol.module;
    if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
    Nominal* target = expected != nullptr ? analysis_.nominal(expected) : nullptr;
    if (target != nullptr && target->symbol == &symbol) {
      for (std::size_t i = 0; i < target->arguments.size(); ++i) bind(inference, i, target->arguments[i]);
    }
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
    if (!infer(inference, callee, patterns, nullptr, call, nullptr, ready)) return wrong(call.range);
    type_arguments = std::move(inference.arguments);
  }
  const Type* type = analysis_.instantiate(symbol, std::move(type_arguments), call.range);
  if (type->is(TypeKind::kError)) {
    if (ready.empty()) check_all(call);
    return wrong(call.range);
  }
  return construct_type(type, call, &ready);
}

hir::Expr* BodyChecker::construct_type(const Type* type, const ast::Expr& call, const std::vector<E>* ready) {
  Nominal& nominal = *analysis_.nominal(type);
  analysis_.complete(nominal);
  const ast::TypeDecl& declaration = *nominal.symbol->declaration;
  std::vector<hir::Stmt*> before;
  std::vector<E> values;
  if (nominal.symbol->init != nullptr) {
    FunctionInstance& init = analysis_.instantiate(*nominal.symbol->init, &nominal, {}, call.range);
    if (init.state == FunctionInstance::State::kSignature) return wrong(call.range);
    Callee callee = callee_of(init);
    callee.name = type->name;
    if (!arguments(callee, call, ready, before, values)) return wrong(call.range);
    E made = make(ExprKind::kNew, type, call.range);
    bool good = true;
    for (std::size_t i = 0; i < declaration.fields.size(); ++i) {
      const ast::Field& field = declaration.fields[i];
      const Type* field_type = type->fields[i].type;
      E first = field.fallback != nullptr ? fallback_value(*field.fallback, field_type, nominal.context)
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
  if (!arguments(callee, call, ready, before, values)) return wrong(call.range);
  const ExprKind kind = type->is(TypeKind::kStruct) ? ExprKind::kMakeStruct : ExprKind::kNew;
  return in_block(std::move(before), make(kind, type, call.range, std::move(values)), call.range);
}

hir::Expr* BodyChecker::construct_weak(const ast::Expr& call, const Type* expected) {
  if (!expect_arguments(call, 1, 1, "Weak<T>(object)")) return wrong(call.range);
  const Type* element = nullptr;
  if (!call.type_arguments.empty()) {
    std::vector<const Type*> type_arguments;
    if (!resolve_all(call.type_arguments, type_arguments)) return wrong(call.range);
    element = type_arguments[0];
  } else if (expected != nullptr) {
    if (expected->is(TypeKind::kNullable)) expected = expected->element;
    if (expected->is(TypeKind::kWeak)) element = expected->element;
  }
  E object =
      element != nullptr ? value_as(*call.arguments[0].value, element) : value(*call.arguments[0].value);
  if (object->type->is(TypeKind::kError)) return object;
  if (element == nullptr) element = object->type;
  if (call.type_arguments.size() > 1 ||
      !(element->is(TypeKind::kClass) || element->is(TypeKind::kInterface))) {
    error(call.range, "a weak reference refers to an object of a class or interface, not to '{}'",
          element->name);
    return wrong(call.range);
  }
  return make(ExprKind::kNewWeak, types().weak(element), call.range, {object});
}

// In `init`, numbers and bool start at zero and nullables at null; all other fields need a value before the
// object is used or `init` ends.
void BodyChecker::begin_init(FunctionInstance& instance) {
  init_ = instance.owner;
  const ast::TypeDecl& declaration = *init_->symbol->declaration;
  for (std::uint32_t i = 0; i < declaration.fields.size(); ++i) {
    const Type* type = init_->type->fields[i].type;
    if (declaration.fields[i].fallback == nullptr && !has_zero(type)) flow_.unassigned.insert(i);
  }
}

std::string BodyChecker::unassigned_names() const {
  std::string names;
  for (std::uint32_t field : flow_.unassigned) {
    names += (names.empty() ? "'" : ", '") + init_->type->fields[field].name + "'";
  }
  return names;
}

void BodyChecker::end_init(Range range) {
  if (flow_.unassigned.empty()) return;
  error(range, "'init' ends without a value for {}", unassigned_names())
      .help("assign it on every path, or give the field a default");
  flow_.unassigned.clear();
}

void BodyChecker::require_initialised(Range range, std::string_view use) {
  if (flow_.unassigned.empty()) return;
  error(range, "{} before {} has a value", use, unassigned_names()).help("assign all fields first");
  flow_.unassigned.clear();
}

}  // namespace dhpvm::compiler
