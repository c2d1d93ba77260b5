// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/type_completion.h"

#include <map>
#include <string>

#include "compiler/check/analysis.h"
#include "compiler/check/body.h"

namespace dhpvm::compiler {

namespace {

// A struct of two structs of two structs ... flattens to exponentially many values.
constexpr std::uint32_t kMaxStructValues = 512;

}  // namespace

void TypeCompletion::run() {
  nominal_.state = Nominal::State::kBusy;
  const Analysis::Enter enter(analysis_, nominal_.origin);
  const ast::TypeDecl& declaration = *nominal_.symbol->declaration;
  // Interfaces first: bounds in the types of the fields may depend on them.
  for (const ast::Type* syntax : declaration.interfaces) {
    const Type* interface = analysis_.resolve(syntax, nominal_.context);
    if (interface->is(TypeKind::kError)) continue;
    if (!interface->is(TypeKind::kInterface)) {
      analysis_.error(syntax->range, "'{}' is no interface", interface->name)
          .help("classes have no base classes: keep a '{}' in a field instead", interface->name);
      continue;
    }
    nominal_.interfaces.push_back(interface);
  }
  if (nominal_.type->is(TypeKind::kInterface)) {
    add_methods();
  } else if (nominal_.type->is_enum) {
    analysis_.enums().complete(nominal_);
  } else {
    add_fields();
  }
  analysis_.check_bounds(declaration.type_parameters, nominal_.arguments, nominal_.context,
                         nominal_.origin.name.empty() ? declaration.name.range : nominal_.origin.range);
  nominal_.state = Nominal::State::kComplete;
}

void TypeCompletion::add_fields() {
  const ast::TypeDecl& declaration = *nominal_.symbol->declaration;
  for (const ast::Field& field : declaration.fields) {
    const Type* type = analysis_.resolve(field.type, nominal_.context);
    if (type->is(TypeKind::kFixedArray)) {
      analysis_.error(field.type->range, "a field cannot be a fixed array")
          .help("use an array: `{}: [{}]`", field.name.text, type->element->name);
      type = analysis_.basic(TypeKind::kError);
    }
    add_field({std::string(field.name.text), type, field.immutable}, field.range);
  }
}

void TypeCompletion::add_field(FieldInfo field, SourceRange range) {
  const Type* type = field.type;
  nominal_.type->fields.push_back(std::move(field));
  if (!nominal_.type->is(TypeKind::kStruct)) return;
  check_embedding(type, range);
  nominal_.values += values_in(nominal_.type->fields.back().type);
  if (nominal_.values <= kMaxStructValues) return;
  analysis_
      .error(range, "{} '{}' is too large: it has more than {} values",
             nominal_.type->is_enum ? "enum" : "struct", nominal_.type->name, kMaxStructValues)
      .help("make it a class, or keep parts of it in arrays");
  nominal_.values = 0;
  nominal_.type->fields.back().type = analysis_.basic(TypeKind::kError);
}

std::uint32_t TypeCompletion::values_in(const Type* type) {
  if (type->is(TypeKind::kNullable) && !type->is_reference()) return 1 + values_in(type->element);
  return type->is(TypeKind::kStruct) ? analysis_.nominal(type)->values : 1;
}

// A struct must not contain itself. A busy struct is being completed: meeting one means that it contains itself.
void TypeCompletion::check_embedding(const Type* field, SourceRange range) {
  if (field->is(TypeKind::kNullable)) field = field->element;
  if (!field->is(TypeKind::kStruct)) return;
  Nominal* inner = analysis_.nominal(field);
  if (inner->state == Nominal::State::kBusy) {
    analysis_.error(range, "struct '{}' contains itself through this field", nominal_.type->name)
        .help("make '{}' a class, or keep an array `[{}]`", inner->type->name, inner->type->name);
    nominal_.type->fields.back().type = analysis_.basic(TypeKind::kError);
    return;
  }
  analysis_.complete(*inner);
}

void TypeCompletion::add_methods() {
  for (const ast::Function* method : nominal_.symbol->declaration->methods) {
    if (!method->type_parameters.empty()) {
      analysis_.error(method->name.range, "a method of an interface cannot be generic")
          .help("make the interface generic instead: `interface {}<T>`", nominal_.symbol->name());
    }
    const bool is_inferred = method->expression != nullptr && method->result == nullptr;
    if (is_inferred) {
      analysis_.error(method->name.range, "the result of a method of an interface is written")
          .help("write `fn {}(...) -> T => ...`, or a body in braces if it gives nothing", method->name.text);
    }
    MethodInfo info;
    info.name = method->name.text;
    for (const ast::Parameter& parameter : method->parameters) {
      const Type* type = analysis_.resolve(parameter.type, nominal_.context);
      if (type->is(TypeKind::kFixedArray)) {
        analysis_.error(parameter.type->range, "a fixed array cannot be a parameter of an interface's method")
            .help("use an array: `{}: {}`", parameter.name.text,
                  analysis_.types().array(type->element, type->rank)->name);
        type = analysis_.basic(TypeKind::kError);
      }
      info.parameters.push_back(type);
    }
    info.result =
        is_inferred ? analysis_.basic(TypeKind::kError) : analysis_.resolve(method->result, nominal_.context);
    nominal_.type->methods.push_back(std::move(info));
  }
}

// If two interfaces provide a method of the same name, the class must declare its own.
void TypeCompletion::check_defaults() {
  std::map<std::string_view, const Type*> givers;
  for (const Type* interface : nominal_.interfaces) {
    for (const auto& [name, method] : analysis_.nominal(interface)->symbol->methods) {
      if (!method->declaration->has_body() || nominal_.symbol->methods.contains(name)) continue;
      const auto [entry, fresh] = givers.try_emplace(name, interface);
      if (fresh || entry->second == interface) continue;
      analysis_
          .error(nominal_.symbol->declaration->name.range, "'{}' gets a method '{}' from '{}' and from '{}'",
                 nominal_.type->name, name, entry->second->name, interface->name)
          .help("declare `fn {}` in '{}'", name, nominal_.symbol->name());
    }
  }
}

void TypeCompletion::implement_interfaces() {
  if (!nominal_.type->is(TypeKind::kClass)) return;
  const Analysis::Enter enter(analysis_, nominal_.origin);
  const std::vector<ast::Type*>& written = nominal_.symbol->declaration->interfaces;
  for (const Type* interface : nominal_.interfaces) {
    SourceRange range = nominal_.symbol->declaration->name.range;
    for (const ast::Type* syntax : written) {
      if (analysis_.resolve(syntax, nominal_.context) == interface) range = syntax->range;
    }
    bool repeated = false;
    for (const ImplementationInfo& known : nominal_.type->implementations) {
      repeated = repeated || known.interface == interface;
    }
    if (repeated) {
      analysis_.error(range, "'{}' is named twice", interface->name);
    } else {
      implement(interface, range);
    }
  }
  check_defaults();
}

void TypeCompletion::implement(const Type* interface, SourceRange range) {
  Nominal& wanted = *analysis_.nominal(interface);
  analysis_.complete(wanted);
  ImplementationInfo implementation;
  implementation.interface = interface;
  for (std::size_t i = 0; i < interface->methods.size(); ++i) {
    const MethodInfo& method = interface->methods[i];
    const std::string signature =
        "fn " + method.name + analysis_.types().function(method.parameters, method.result)->name.substr(2);
    const SourceRange declared = wanted.symbol->declaration->methods[i]->name.range;
    auto found = nominal_.symbol->methods.find(method.name);
    if (found == nominal_.symbol->methods.end()) {
      FunctionSymbol& given = *wanted.symbol->methods.at(method.name);
      if (given.declaration->has_body()) {
        const bool is_wrong =
            !given.declaration->type_parameters.empty() || method.result->is(TypeKind::kError);
        if (is_wrong) continue;
        implementation.functions.push_back(
            forwarder(analysis_, nominal_, analysis_.instantiate(given, &wanted, {}, range), range));
        continue;
      }
      analysis_
          .error(range, "'{}' has no method '{}', which '{}' demands", nominal_.type->name, method.name,
                 interface->name)
          .note(declared, "'{}' is declared here", method.name)
          .help("add `{}`", signature);
      continue;
    }
    FunctionSymbol& symbol = *found->second;
    const SourceRange here = symbol.declaration->name.range;
    if (!symbol.declaration->type_parameters.empty()) {
      analysis_.error(here, "'{}' cannot be generic: it implements '{}'", method.name, interface->name);
      continue;
    }
    FunctionInstance& instance = analysis_.instantiate(symbol, &nominal_, {}, here);
    const Type* result = analysis_.result_of(instance, here);
    if (result->is(TypeKind::kError) || method.result->is(TypeKind::kError)) continue;
    if (instance.parameters != method.parameters || result != method.result) {
      analysis_
          .error(here, "'{}' differs from the method of '{}' that it implements", method.name,
                 interface->name)
          .note(declared, "'{}' is declared here", method.name)
          .help("write `{}`", signature);
      continue;
    }
    implementation.functions.push_back(analysis_.use(instance));
  }
  nominal_.type->implementations.push_back(std::move(implementation));
}

}  // namespace dhpvm::compiler
