// SPDX-License-Identifier: Apache-2.0
// Instances of structs, classes and interfaces, and questions about them.
#include "compiler/check/analysis.h"
#include "compiler/check/type_completion.h"

namespace dhpvm::compiler {

namespace {

constexpr std::uint32_t kMaxInstantiationDepth = 64;
// If each instance requires two more, there are 2^64 at the depth limit.
constexpr std::uint32_t kMaxGenericInstances = 10000;
// The name of a runaway type grows exponentially with its depth.
constexpr std::size_t kMaxTypeName = 4000;

// Enums are structs unless they contain themselves.
TypeKind kind_of(ast::TypeDeclKind kind) {
  switch (kind) {
    case ast::TypeDeclKind::kEnum:
    case ast::TypeDeclKind::kStruct: return TypeKind::kStruct;
    case ast::TypeDeclKind::kClass: return TypeKind::kClass;
    case ast::TypeDeclKind::kInterface:
    case ast::TypeDeclKind::kAlias: break;
  }
  return TypeKind::kInterface;
}

}  // namespace

Origin Analysis::make_origin(bool generic, SourceRange range, const std::string& name) const {
  Origin origin;
  if (!generic) return origin;  // its errors are independent of the first use
  origin.parent = current_;
  origin.range = range;
  origin.name = name;
  origin.depth = current_ != nullptr ? current_->depth + 1 : 1;
  return origin;
}

bool Analysis::too_deep(const Origin& origin, SourceRange range) {
  if (origin.name.empty()) return false;
  if (++generic_instances_ > kMaxGenericInstances) {
    error(range, "the program makes more than {} instances of generics", kMaxGenericInstances)
        .help("look for a generic that uses itself with more than one set of type arguments");
    return true;
  }
  if (origin.depth <= kMaxInstantiationDepth && origin.name.size() <= kMaxTypeName) return false;
  constexpr std::size_t kShown = 60;
  std::string name = origin.name.substr(0, kShown);
  if (name.size() < origin.name.size()) name += "...";
  error(range, "generic instances are nested too deeply: '{}'", name)
      .help("a generic must not use itself with ever larger type arguments");
  return true;
}

const Type* Analysis::instantiate(NominalSymbol& symbol, std::vector<const Type*> arguments,
                                  SourceRange range) {
  const ast::TypeDecl& declaration = *symbol.declaration;
  const std::size_t wanted = declaration.type_parameters.size();
  if (arguments.size() != wanted) {
    Diagnostic& diagnostic = error(range, "'{}' takes {} type argument{}, not {}", symbol.name(), wanted,
                                   wanted == 1 ? "" : "s", arguments.size());
    diagnostic.note(declaration.name.range, "'{}' is declared here", symbol.name());
    if (arguments.empty()) {
      std::string list;
      for (const ast::TypeParameter& parameter : declaration.type_parameters) {
        list += (list.empty() ? "" : ", ") + std::string(parameter.name.text);
      }
      diagnostic.help("write `{}<{}>` with types for {}", symbol.name(), list, list);
    }
    return basic(TypeKind::kError);
  }
  for (const Type* argument : arguments) {
    if (argument->is(TypeKind::kError)) return argument;
  }
  if (symbol.is_alias()) return resolve_alias(symbol, std::move(arguments), range);
  auto [entry, fresh] = nominal_cache_.try_emplace({&symbol, arguments}, nullptr);
  if (!fresh) return entry->second != nullptr ? entry->second->type : basic(TypeKind::kError);

  std::string name(symbol.name());
  if (wanted != 0) {
    name += "<";
    for (std::size_t i = 0; i < wanted; ++i) name += (i == 0 ? "" : ", ") + arguments[i]->name;
    name += ">";
  }
  if (errors_.declares_result(symbol))
    name = ErrorTypes::name_of(wanted != 0 ? arguments[0] : basic(TypeKind::kVoid));
  if (tuples_.declares(symbol)) name = TupleTypes::name_of(arguments);
  Origin origin = make_origin(wanted != 0, range, name);
  if (too_deep(origin, range)) return basic(TypeKind::kError);

  Nominal& nominal = nominals_.emplace_back();
  nominal.symbol = &symbol;
  const bool is_enum = declaration.kind == ast::TypeDeclKind::kEnum;
  const TypeKind kind =
      is_enum && enums_.contains_itself(symbol) ? TypeKind::kClass : kind_of(declaration.kind);
  nominal.type = types().nominal(kind, name);
  nominal.type->is_enum = is_enum;
  nominal.context.module = symbol.module;
  for (std::size_t i = 0; i < wanted; ++i) {
    nominal.context.bindings.emplace_back(declaration.type_parameters[i].name.text, arguments[i]);
  }
  nominal.arguments = std::move(arguments);
  nominal.origin = std::move(origin);
  entry->second = &nominal;
  nominal_by_type_[nominal.type] = &nominal;
  if (observer_ != nullptr) observer_->on_type(nominal.type, declaration);
  incomplete_.push_back(&nominal);
  return nominal.type;
}

const Type* Analysis::resolve_alias(NominalSymbol& symbol, std::vector<const Type*> arguments,
                                    SourceRange range) {
  const ast::TypeDecl& declaration = *symbol.declaration;
  if (symbol.in_work) {
    error(declaration.name.range, "the type '{}' stands for itself", symbol.name())
        .help("a type that contains itself is a class, an enum, or an array of such");
    return basic(TypeKind::kError);
  }
  auto [entry, fresh] = alias_cache_.try_emplace({&symbol, arguments}, basic(TypeKind::kError));
  if (!fresh) return entry->second;
  TypeContext context;
  context.module = symbol.module;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    context.bindings.emplace_back(declaration.type_parameters[i].name.text, arguments[i]);
  // The instances that the alias makes refer to its origin after this function ends.
  const Origin& origin =
      alias_origins_.emplace_back(make_origin(!arguments.empty(), range, std::string(symbol.name())));
  symbol.in_work = true;
  {
    Enter enter(*this, origin);
    if (check_bounds(declaration.type_parameters, arguments, context, range))
      entry->second = resolve(declaration.aliased, context);
  }
  symbol.in_work = false;
  return entry->second;
}

NominalSymbol* Analysis::behind_alias(NominalSymbol* symbol) {
  std::set<const NominalSymbol*> seen;
  while (symbol != nullptr && symbol->is_alias()) {
    const ast::Type& aliased = *symbol->declaration->aliased;
    if (aliased.kind != ast::TypeKind::kNamed || !seen.insert(symbol).second) return nullptr;
    symbol = find_type(aliased.qualifier.text, aliased.name.text, aliased.range, {symbol->module, {}}, false);
  }
  return symbol;
}

Nominal* Analysis::nominal(const Type* type) {
  auto entry = nominal_by_type_.find(type);
  return entry == nominal_by_type_.end() ? nullptr : entry->second;
}

bool Analysis::check_bounds(const std::vector<ast::TypeParameter>& parameters,
                            const std::vector<const Type*>& arguments, const TypeContext& context,
                            SourceRange range) {
  bool good = true;
  for (std::size_t i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    if (parameters[i].bound == nullptr) continue;
    const Type* bound = resolve(parameters[i].bound, context);
    if (bound->is(TypeKind::kError) || arguments[i]->is(TypeKind::kError)) continue;
    if (!bound->is(TypeKind::kInterface)) {
      error(parameters[i].bound->range, "a bound is an interface, and '{}' is none", bound->name);
      good = false;
    } else if (!implements(arguments[i], bound)) {
      error(range, "'{}' does not implement '{}', the bound of '{}'", arguments[i]->name, bound->name,
            parameters[i].name.text)
          .note(parameters[i].name.range, "the bound is declared here")
          .help("declare `class {} : {}`", arguments[i]->name, bound->name);
      good = false;
    }
  }
  return good;
}

void Analysis::complete(Nominal& nominal) {
  if (nominal.state == Nominal::State::kDeclared) TypeCompletion(*this, nominal).run();
}

bool Analysis::implements(const Type* type, const Type* interface) {
  if (type == interface) return true;
  if (!type->is(TypeKind::kClass) || type->is_enum) return false;
  Nominal& cls = *nominal(type);
  complete(cls);
  for (const Type* known : cls.interfaces) {
    if (known == interface) return true;
  }
  return false;
}

const FieldInfo* Analysis::find_field(const Type* type, std::string_view name, std::uint32_t& index) {
  Nominal* owner = nominal(type);
  if (owner == nullptr || type->is_enum) return nullptr;
  complete(*owner);
  for (index = 0; index < type->fields.size(); ++index) {
    if (type->fields[index].name == name) return &type->fields[index];
  }
  return nullptr;
}

bool Analysis::has_equals(const Type* type) {
  Nominal* nominal = this->nominal(type);
  if (nominal == nullptr) return false;
  const auto fits = [&](const std::vector<const Type*>& parameters) {
    return parameters.size() == 1 && implements(type, parameters[0]);
  };
  const Method method = find_method(*nominal, "equals");
  if (method.symbol == nullptr || !method.symbol->declaration->type_parameters.empty()) return false;
  return fits(instantiate(*method.symbol, method.owner, {}, {}).parameters);
}

Method Analysis::find_method(Nominal& nominal, std::string_view name) {
  const auto own = nominal.symbol->methods.find(name);
  if (own != nominal.symbol->methods.end()) return {own->second, &nominal};
  complete(nominal);
  for (const Type* type : nominal.interfaces) {
    Nominal& interface = *this->nominal(type);
    const auto found = interface.symbol->methods.find(name);
    if (found != interface.symbol->methods.end() && found->second->declaration->has_body())
      return {found->second, &interface};
  }
  return {};
}

std::vector<std::string_view> Analysis::names_of_methods(Nominal& nominal) {
  std::vector<std::string_view> names;
  for (const auto& [name, method] : nominal.symbol->methods) names.push_back(name);
  for (const Type* interface : nominal.interfaces) {
    for (const auto& [name, method] : this->nominal(interface)->symbol->methods) names.push_back(name);
  }
  return names;
}

bool Analysis::is_plain(const Type* type) {
  if (type->is_primitive()) return true;
  if (type->is(TypeKind::kNullable)) return is_plain(type->element);
  if (!type->is(TypeKind::kStruct)) return false;
  complete(*nominal(type));
  for (const FieldInfo& field : type->fields) {
    if (!is_plain(field.type)) return false;
  }
  return true;
}

}  // namespace dhpvm::compiler
