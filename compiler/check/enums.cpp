// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/enums.h"

#include <algorithm>

#include "base/spelling.h"
#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

constexpr std::string_view kAllCases = "cases";

Callee callee_of(const NominalSymbol& symbol, const ast::EnumCase& option) {
  Callee callee;
  callee.name = std::string(symbol.name()) + "." + std::string(option.name.text);
  callee.generic_form = std::string(symbol.name()) + "<...>." + std::string(option.name.text);
  callee.declared = option.name.range;
  callee.has_declaration = true;
  for (const ast::Field& value : option.values) {
    const bool optional = value.fallback != nullptr || value.type->kind == ast::TypeKind::kNullable;
    callee.parameters.push_back({value.name.text, nullptr, value.fallback, optional, value.range});
  }
  return callee;
}

}  // namespace

NominalSymbol* EnumChecker::named(const ast::Expr& expr) {
  NominalSymbol* symbol = analysis_.behind_alias(declared(expr));
  return symbol != nullptr && symbol->declaration->kind == ast::TypeDeclKind::kEnum ? symbol : nullptr;
}

// The type or alias that `expr` names.
NominalSymbol* EnumChecker::declared(const ast::Expr& expr) {
  if (expr.kind == ast::ExprKind::kMember && !expr.safe) {
    ModuleSymbols* module = parts_.names.module_named(*expr.operands[0]);
    if (module == nullptr) return nullptr;
    const auto type = module->types.find(expr.name.text);
    return type != module->types.end() ? type->second : nullptr;
  }
  if (expr.kind == ast::ExprKind::kName && !expr.name.empty()) {
    const std::string_view name = expr.name.text;
    if (parts_.scopes.find_variable(name) != nullptr || parts_.names.this_has_field(name)) return nullptr;
    if (find_binding(state_.context.bindings, name) != nullptr) return nullptr;
    const ModuleSymbols& module = *state_.context.module;
    if (module.functions.contains(name) || module.constants.contains(name)) return nullptr;
    return analysis_.find_type({}, name, expr.range, state_.context, false);
  }
  return nullptr;
}

const ast::EnumCase* EnumChecker::declared_case(const NominalSymbol& symbol, std::string_view name) {
  const std::vector<ast::EnumCase>& cases = symbol.declaration->cases;
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const ast::EnumCase& option) { return option.name.text == name; });
  return found == cases.end() ? nullptr : &*found;
}

// The enum with its type arguments, written or inferred from the values of the case. Null after a diagnostic.
const Type* EnumChecker::type_for(NominalSymbol& symbol, const ast::Expr& object, const ast::EnumCase* option,
                                  const ast::Expr& call, const Type* expected, std::vector<E>& ready) {
  if (NominalSymbol* written = declared(object); written->is_alias())
    return parts_.inference.of_alias(*written, object.type_arguments, expected, object.range);
  const ast::TypeDecl& declaration = *symbol.declaration;
  std::vector<const Type*> arguments;
  if (!object.type_arguments.empty()) {
    if (!parts_.inference.resolve_all(object.type_arguments, arguments)) return nullptr;
  } else if (!declaration.type_parameters.empty() && option != nullptr) {
    Inference inference = parts_.inference.of_new(symbol, expected);
    std::vector<const ast::Type*> patterns;
    for (const ast::Field& value : option->values) patterns.push_back(value.type);
    if (!parts_.inference.infer(inference, callee_of(symbol, *option), patterns, nullptr, call, nullptr,
                                ready))
      return nullptr;
    arguments = std::move(inference.arguments);
  }
  const Type* type = analysis_.instantiate(symbol, std::move(arguments), call.range);
  return type->is(TypeKind::kError) ? nullptr : type;
}

hir::Expr* EnumChecker::member(NominalSymbol& symbol, const ast::Expr& member, const Type* expected) {
  const ast::Expr& object = *member.operands[0];
  if (member.name.empty()) return wrong(member.range);
  const ast::EnumCase* option = declared_case(symbol, member.name.text);
  ast::Expr call;  // without arguments
  call.range = member.range;
  const auto has_default = [](const ast::Field& value) { return value.fallback != nullptr; };
  if (option != nullptr && !option->values.empty() && std::ranges::all_of(option->values, has_default))
    return this->call(symbol, member, call, expected);
  if (option != nullptr && !option->values.empty()) {
    std::string values;
    for (const ast::Field& value : option->values) {
      const std::string type(analysis_.diagnostics().sources().text(value.type->range));
      values += (values.empty() ? "" : ", ") + std::string(value.name.text) +
                (value.name.empty() ? type : ": " + type);
    }
    error(member.name.range, "the case '{}' has values", member.name.text)
        .note(option->name.range, "'{}' is declared here", option->name.text)
        .help("give them: `{}.{}({})`", symbol.name(), option->name.text, values);
    return wrong(member.range);
  }
  std::vector<E> ready;
  const Type* type = type_for(symbol, object, option, call, expected, ready);
  if (type == nullptr) return wrong(member.range);
  std::uint32_t index = 0;
  if (analysis_.enums().find_case(type, member.name.text, index) != nullptr)
    return make_case(type, index, {}, member.range);
  if (member.name.text == kAllCases) return all_cases(type, member.range);
  report_missing_case(type, member.name);
  return wrong(member.range);
}

// An array of all cases, in the order of their declaration.
hir::Expr* EnumChecker::all_cases(const Type* type, Range range) {
  if (!analysis_.enums().is_plain(type)) {
    error(range, "'{}' has cases with values: there is no list of all of them", type->name)
        .help("`cases` is for enums whose cases are names alone");
    return wrong(range);
  }
  const std::size_t count = analysis_.enums().cases(type).size();
  std::vector<E> elements;
  for (std::uint32_t i = 0; i < count; ++i) elements.push_back(make_case(type, i, {}, range));
  return make(ExprKind::kArrayLiteral, types().array(type, 1), range, std::move(elements));
}

hir::Expr* EnumChecker::call(NominalSymbol& symbol, const ast::Expr& member, const ast::Expr& call,
                             const Type* expected) {
  const ast::EnumCase* option = declared_case(symbol, member.name.text);
  if (option == nullptr) {
    parts_.argument_matching.check_all(call);
    Diagnostic& diagnostic =
        error(member.name.range, "'{}' has no case '{}'", symbol.name(), member.name.text);
    std::vector<std::string_view> names;
    for (const ast::EnumCase& known : symbol.declaration->cases) names.push_back(known.name.text);
    if (const std::string_view near = nearest_name(member.name.text, names); !near.empty())
      diagnostic.help("write `{}.{}`", symbol.name(), near);
    if (member.name.text == "values") diagnostic.help("write `{}.cases`", symbol.name());
    if (symbol.methods.contains(member.name.text))
      diagnostic.help("'{}' is a method of its values", member.name.text);
    return wrong(call.range);
  }
  if (option->values.empty()) {
    parts_.argument_matching.check_all(call);
    error(call.range, "the case '{}' has no values", option->name.text)
        .note(option->name.range, "'{}' is declared here", option->name.text)
        .help("remove the parentheses: `{}.{}`", symbol.name(), option->name.text);
    return wrong(call.range);
  }
  std::vector<E> ready;
  const Type* type = type_for(symbol, *member.operands[0], option, call, expected, ready);
  if (type == nullptr) {
    if (ready.empty()) parts_.argument_matching.check_all(call);
    return wrong(call.range);
  }
  std::uint32_t index = 0;
  const CaseInfo& info = *analysis_.enums().find_case(type, option->name.text, index);
  Callee callee = callee_of(symbol, *option);
  callee.fallback_context = analysis_.nominal(type)->context;
  for (std::size_t i = 0; i < info.values.size(); ++i) callee.parameters[i].type = info.values[i].type;
  Body before;
  std::vector<E> values;
  if (!parts_.argument_matching.arguments(callee, call, &ready, before, values)) return wrong(call.range);
  // Values are evaluated in the order of the source, whatever the order of their fields.
  if (!std::is_sorted(info.fields.begin(), info.fields.end())) {
    for (E& value : values) value = stable(value, before);
  }
  return in_block(std::move(before), make_case(type, index, values, call.range), call.range);
}

hir::Expr* EnumChecker::make_case(const Type* type, std::uint32_t index, const std::vector<E>& values,
                                  Range range) {
  const CaseInfo& info = analysis_.enums().cases(type)[index];
  std::vector<E> fields{integer(index, type->fields[EnumTypes::kCaseField].type, range)};
  for (std::size_t i = 1; i < type->fields.size(); ++i)
    fields.push_back(make(ExprKind::kZero, type->fields[i].type, range));
  for (std::size_t i = 0; i < values.size(); ++i) fields[info.fields[i]] = values[i];
  return make(type->is(TypeKind::kStruct) ? ExprKind::kMakeStruct : ExprKind::kNew, type, range,
              std::move(fields));
}

hir::Expr* EnumChecker::number(E value, Range range) {
  analysis_.complete(*analysis_.nominal(value->type));
  return parts_.members.field(value, EnumTypes::kCaseField, range);
}

hir::Expr* EnumChecker::is_case(E value, const ast::Type& type, Range range) {
  const bool is_name = type.kind == ast::TypeKind::kNamed && type.arguments.empty();
  const std::string_view qualifier = type.qualifier.text;
  const NominalSymbol* symbol = analysis_.nominal(value->type)->symbol;
  const auto is_meant = [&] {
    return qualifier.empty() || qualifier == symbol->name() ||
           symbol == analysis_.behind_alias(analysis_.find_type({}, qualifier, range, state_.context, false));
  };
  std::uint32_t index = 0;
  if (!is_name || !is_meant() || analysis_.enums().find_case(value->type, type.name.text, index) == nullptr) {
    error(type.range, "`is` tests a '{}' for one of its cases", value->type->name)
        .help("its cases are {}", list_of_cases(value->type));
    return wrong(range);
  }
  E here = number(value, range);
  return binary(hir::Binary::kEq, here, integer(index, here->type, range), range);
}

std::string EnumChecker::list_of_cases(const Type* type) {
  constexpr std::size_t kShown = 8;
  const std::vector<CaseInfo>& all = analysis_.enums().cases(type);
  std::string text;
  for (std::size_t i = 0; i < all.size() && i < kShown; ++i) {
    const bool last = i + 1 == all.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::string(all[i].name());
  }
  return all.size() > kShown ? text + " and others" : text;
}

void EnumChecker::report_missing_case(const Type* type, const ast::Name& name) {
  Diagnostic& diagnostic = error(name.range, "'{}' has no case '{}'", type->name, name.text);
  std::vector<std::string_view> names;
  for (const CaseInfo& known : analysis_.enums().cases(type)) names.push_back(known.name());
  if (const std::string_view near = nearest_name(name.text, names); !near.empty()) {
    diagnostic.help("write `{}`", near);
  } else {
    diagnostic.help("its cases are {}; `else` stands for all others", list_of_cases(type));
  }
}

}  // namespace dhpvm::compiler
