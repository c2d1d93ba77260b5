// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/host_objects.h"

#include <algorithm>
#include <vector>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {
namespace {

constexpr std::string_view kConstructor = "new ";

// The methods of List, Map and Set for hosts: those that work for all element types.
constexpr std::string_view kLibraryMethods[] = {"len", "get", "at",     "set",  "push",  "pop",
                                                "has", "add", "remove", "keys", "clear", "insert"};

bool is_collection(const NominalSymbol& symbol) {
  return symbol.module->module->is_stdlib &&
         (symbol.name() == "List" || symbol.name() == "Map" || symbol.name() == "Set");
}

ast::Parameter parameter_of(const ast::Name& name, ast::Type* type) {
  ast::Parameter parameter;
  parameter.name = name;
  parameter.type = type;
  parameter.range = name.range;
  return parameter;
}

}  // namespace

void HostObjects::add(const Type* type) {
  if (type == nullptr || !seen_.insert(type).second) return;
  if (type->element != nullptr) add(type->element);
  for (const Type* parameter : type->parameters) add(parameter);
  if (type->result != nullptr) add(type->result);
  Nominal* const nominal = analysis_.nominal(type);
  if (nominal == nullptr) return;
  for (const Type* argument : nominal->arguments) add(argument);
  analysis_.complete(*nominal);
  const ast::Module* const source = nominal->symbol->module->module;  // null for a tuple
  const bool is_library = source != nullptr && source->is_stdlib && !source->is_of_host;
  if (is_library && !is_collection(*nominal->symbol)) return;
  // The fields of a collection are private.
  if (!is_library) {
    for (const FieldInfo& field : type->fields) add(field.type);
  }
  if (type->is(TypeKind::kClass) && !type->is_enum && names_.insert(type->name).second) add_class(*nominal);
}

void HostObjects::add_class(Nominal& nominal) {
  add_constructor(nominal);
  const bool is_library = is_collection(*nominal.symbol);
  for (const auto& [name, method] : nominal.symbol->methods) {
    const ast::Function& declaration = *method->declaration;
    if (!declaration.type_parameters.empty() || !declaration.has_body()) continue;
    if (is_library && std::ranges::find(kLibraryMethods, name) == std::end(kLibraryMethods)) continue;
    // Some methods of a generic class may not compile for all types: those that the program uses do.
    FunctionInstance& instance = analysis_.instantiate(*method, &nominal, {}, declaration.name.range);
    if (takes_fixed_arrays(instance.parameters)) continue;
    const bool is_checked = nominal.arguments.empty() || is_library;
    if (hir::Function* const function = is_checked ? analysis_.use(instance) : instance.function)
      function->exported = is_checked || instance.state == FunctionInstance::State::kDone;
  }
}

void HostObjects::add_constructor(Nominal& nominal) {
  const SourceRange range = nominal.symbol->declaration->name.range;
  FunctionInstance& instance =
      analysis_.instantiate(constructor(*nominal.symbol), nullptr, nominal.arguments, range);
  hir::Function* const function = analysis_.use(instance);
  function->name = std::string(kConstructor) + nominal.type->name;
  function->exported = true;
}

// fn new<T>(x: T, ..) -> Node<T> => Node<T>(x, ..)
FunctionSymbol& HostObjects::constructor(NominalSymbol& symbol) {
  const auto [entry, fresh] = constructors_.try_emplace(&symbol);
  if (!fresh) return entry->second;
  const ast::TypeDecl& declaration = *symbol.declaration;
  const SourceRange range = declaration.name.range;
  ast::Function& function = functions_.emplace_back();
  function.range = range;
  function.name = {texts_.emplace_back(std::string(kConstructor) + std::string(symbol.name())), range};
  function.type_parameters = declaration.type_parameters;

  ast::Type& result = types_.emplace_back();
  result.kind = ast::TypeKind::kNamed;
  result.range = range;
  result.name = declaration.name;
  for (const ast::TypeParameter& parameter : declaration.type_parameters) {
    ast::Type& argument = types_.emplace_back();
    argument.kind = ast::TypeKind::kNamed;
    argument.range = range;
    argument.name = parameter.name;
    result.arguments.push_back(&argument);
  }
  function.result = &result;

  if (declaration.init != nullptr) {
    for (const ast::Parameter& parameter : declaration.init->parameters)
      function.parameters.push_back(parameter_of(parameter.name, parameter.type));
  } else {
    for (const ast::Field& field : declaration.fields)
      function.parameters.push_back(parameter_of(field.name, field.type));
  }
  ast::Expr& call = exprs_.emplace_back();
  call.kind = ast::ExprKind::kCall;
  call.range = range;
  call.type_arguments = result.arguments;
  call.operands.push_back(name(declaration.name));
  for (const ast::Parameter& parameter : function.parameters)
    call.arguments.push_back({{}, name(parameter.name)});
  function.expression = &call;

  entry->second.declaration = &function;
  entry->second.module = symbol.module;
  return entry->second;
}

ast::Expr* HostObjects::name(const ast::Name& text) {
  ast::Expr& expr = exprs_.emplace_back();
  expr.kind = ast::ExprKind::kName;
  expr.range = text.range;
  expr.name = text;
  return &expr;
}

}  // namespace dhpvm::compiler
