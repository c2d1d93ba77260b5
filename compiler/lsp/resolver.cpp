// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/resolver.h"

#include <algorithm>

namespace dhpvm::compiler::lsp {

using ast::ExprKind;
using ast::PatternKind;
using ast::StmtKind;

Resolver::Resolver(const ast::Program& program, const ast::Module& module, const Facts& facts, Index& index)
    : module_(module), facts_(facts), index_(index), scope_(program, module), members_(program, facts) {}

void Resolver::run() {
  imports();
  for (const ast::Constant* declared : module_.constants) {
    use(declared->name, declared->name.range);
    constant(*declared);
  }
  own_functions(module_.functions);
  for (const ast::Function* declared : module_.functions) {
    function_ = declared;
    function(*declared);
  }
  function_ = nullptr;
  for (const ast::TypeDecl* declared : module_.types) own_type(*declared);
  index_.finish();
}

void Resolver::imports() {
  for (const ast::Import& imported : module_.imports) {
    if (imported.module == nullptr || imported.path.empty()) continue;
    const SourceRange start{imported.module->file, 0, 0};
    index_.add(join(imported.path.front().range, imported.path.back().range), start);
    use(imported.name, start);
  }
}

void Resolver::own_functions(const std::vector<ast::Function*>& list) {
  for (const ast::Function* declared : list) {
    use(declared->name, declared->name.range);
    declare_parameters(declared->type_parameters);
  }
}

void Resolver::declare_parameters(const std::vector<ast::TypeParameter>& list) {
  for (const ast::TypeParameter& parameter : list) use(parameter.name, parameter.name.range);
}

void Resolver::own_type(const ast::TypeDecl& type) {
  use(type.name, type.name.range);
  declare_parameters(type.type_parameters);
  for (const ast::Field& field : type.fields) use(field.name, field.name.range);
  for (const ast::EnumCase& option : type.cases) {
    use(option.name, option.name.range);
    for (const ast::Field& value : option.values) use(value.name, value.name.range);
  }
  own_functions(type.methods);
  type_ = &type;
  own_members_.clear();
  type_declaration(type);
  type_ = nullptr;
}

void Resolver::use(const ast::Name& name, const ast::Name* declaration) {
  if (declaration != nullptr && !declaration->empty()) use(name, declaration->range);
}

// ------------------------------------------------------------------------------------------------ variables

bool Resolver::is_known_name(std::string_view name) const {
  return type_called(name) != nullptr || find_constant(module_, name) != nullptr ||
         some_case(name) != nullptr;
}

void Resolver::on_declare(const Local& local) {
  if (const auto outer = reductions_.find(local.name.range.begin); outer != reductions_.end())
    return use(local.name, outer->second);
  use(local.name, local.name.range);
}

void Resolver::on_read(const Local& local, const ast::Name& name) {
  const auto outer = reductions_.find(local.name.range.begin);
  use(name, outer == reductions_.end() ? local.name.range : outer->second);
}

void Resolver::on_assign(Local& local, const ast::Name& name) { on_read(local, name); }

void Resolver::on_scope_end(const Local& local) {
  if (reductions_.contains(local.name.range.begin)) return;
  index_.add_local({local.name.text, local.name.range, local.end, local.role == Role::kParameter,
                    local.role == Role::kVar});
}

// ---------------------------------------------------------------------------------------------------- names

namespace {

template <typename Map, typename Find>
typename Map::mapped_type looked_up(Map& known, std::string_view name, const Find& find) {
  const auto [entry, fresh] = known.try_emplace(name, nullptr);
  if (fresh) entry->second = find();
  return entry->second;
}

}  // namespace

const ast::TypeDecl* Resolver::type_called(std::string_view name) const {
  return looked_up(types_, name, [&] { return scope_.type({}, name); });
}

const ast::TypeDecl* Resolver::declaration_of(const ast::Type* type) const {
  if (type == nullptr || type->kind != ast::TypeKind::kNamed || !type->qualifier.empty())
    return members_.declaration_of(type, module_);
  return looked_up(declarations_, type->name.text, [&] { return members_.declaration_of(type, module_); });
}

const ast::Function* Resolver::function_called(std::string_view name) const {
  return looked_up(functions_, name, [&] { return find_function(module_, name); });
}

const ast::EnumCase* Resolver::some_case(std::string_view name) const {
  return looked_up(cases_, name, [&] { return scope_.some_case(name); });
}

const ast::Name* Resolver::at_top_level(std::string_view name) {
  const auto [entry, fresh] = top_level_.try_emplace(name, nullptr);
  if (!fresh) return entry->second;
  if (const ast::Function* found = function_called(name); found != nullptr) {
    entry->second = &found->name;
  } else if (const ast::Constant* constant = find_constant(module_, name); constant != nullptr) {
    entry->second = &constant->name;
  } else if (const ast::TypeDecl* type = type_called(name); type != nullptr) {
    entry->second = &type->name;
  }
  return entry->second;
}

const Members::Found& Resolver::own_member(std::string_view name) {
  const auto [entry, fresh] = own_members_.try_emplace(name);
  if (fresh) entry->second = members_.find(*type_, name);
  return entry->second;
}

void Resolver::on_free_name(const ast::Name& name) {
  if (name.empty()) return;
  if (type_ != nullptr) {
    if (const Members::Found& found = own_member(name.text); found.name != nullptr)
      return use(name, found.name);
  }
  if (const ast::TypeParameter* parameter = type_parameter(name); parameter != nullptr)
    return use(name, parameter->name.range);
  if (const ast::Name* found = at_top_level(name.text); found != nullptr) return use(name, found);
  if (const ast::Module* imported = scope_.import(name.text); imported != nullptr)
    use(name, SourceRange{imported->file, 0, 0});
}

const ast::TypeParameter* Resolver::type_parameter(const ast::Name& name) const {
  const auto among = [&](const std::vector<ast::TypeParameter>& list) -> const ast::TypeParameter* {
    const auto found = std::ranges::find_if(
        list, [&](const ast::TypeParameter& parameter) { return parameter.name.text == name.text; });
    return found == list.end() ? nullptr : &*found;
  };
  if (function_ != nullptr) return among(function_->type_parameters);
  if (type_ == nullptr) return nullptr;
  for (const ast::Function* method : type_->methods) {
    if (method->range.begin > name.range.begin || name.range.end > method->range.end) continue;
    if (const ast::TypeParameter* found = among(method->type_parameters); found != nullptr) return found;
  }
  return among(type_->type_parameters);
}

void Resolver::on_type(const ast::Type& type) {
  if (type.kind != ast::TypeKind::kNamed || type.name.empty()) return;
  if (type.qualifier.empty()) {
    if (const ast::TypeParameter* parameter = type_parameter(type.name); parameter != nullptr)
      return use(type.name, parameter->name.range);
  } else if (const ast::Module* imported = scope_.import(type.qualifier.text); imported != nullptr) {
    use(type.qualifier, SourceRange{imported->file, 0, 0});
  } else if (const ast::TypeDecl* owner = type_called(type.qualifier.text); owner != nullptr) {
    // A case of an enum, in a pattern or behind `is`.
    use(type.qualifier, owner->name.range);
    return case_name(type.name, owner);
  }
  const ast::TypeDecl* const found =
      type.qualifier.empty() ? type_called(type.name.text) : scope_.type(type.qualifier.text, type.name.text);
  if (found != nullptr) return use(type.name, found->name.range);
  if (type.qualifier.empty()) case_name(type.name, nullptr);
}

void Resolver::case_name(const ast::Name& name, const ast::TypeDecl* type) {
  const ast::EnumCase* const option = type != nullptr ? find_case(*type, name.text) : some_case(name.text);
  if (option != nullptr) use(name, option->name.range);
}

// ---------------------------------------------------------------------------------------------- expressions

void Resolver::on_expr(const ast::Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kMember: return member(expr);
    case ExprKind::kCall: return call(expr);
    case ExprKind::kMatch: return arms(expr.arms, expr.operands.empty() ? nullptr : expr.operands[0]);
    case ExprKind::kIs: {
      const ast::TypeDecl* const tested = expr.operands.empty() ? nullptr : type_of(*expr.operands[0]);
      const bool is_enum = tested != nullptr && tested->kind == ast::TypeDeclKind::kEnum;
      if (is_enum && expr.type != nullptr) case_name(expr.type->name, tested);
      return;
    }
    case ExprKind::kClosure:
      if (expr.closure == nullptr) return;
      for (const ast::Parameter& parameter : expr.closure->parameters)
        written_types_[parameter.name.range.begin] = parameter.type;
      return;
    default: return;
  }
}

void Resolver::on_statement(const ast::Stmt& statement) {
  if (statement.kind == StmtKind::kMatch) return arms(statement.arms, statement.value);
  if (statement.kind == StmtKind::kLet || statement.kind == StmtKind::kVar)
    written_types_[statement.name.range.begin] = statement.type;
  if (statement.parallel == nullptr) return;
  for (const ast::Reduction& reduction : statement.parallel->reductions) {
    if (const Local* outer = find(reduction.variable.text); outer != nullptr)
      reductions_[reduction.variable.range.begin] = outer->name.range;
  }
}

const ast::Module* Resolver::module_named(const ast::Expr& expr) {
  if (expr.kind != ExprKind::kName || find(expr.name.text) != nullptr) return nullptr;
  if (type_ != nullptr && find_field(*type_, expr.name.text) != nullptr) return nullptr;
  return scope_.import(expr.name.text);
}

const ast::TypeDecl* Resolver::type_named(const ast::Expr& expr) {
  if (expr.kind == ExprKind::kName && find(expr.name.text) == nullptr) {
    if (function_called(expr.name.text) != nullptr) return nullptr;
    ast::Type named;
    named.kind = ast::TypeKind::kNamed;
    named.name = expr.name;
    return declaration_of(&named);
  }
  if (expr.kind != ExprKind::kMember || expr.operands.empty()) return nullptr;
  const ast::Module* const imported = module_named(*expr.operands[0]);
  return imported == nullptr ? nullptr : find_type(*imported, expr.name.text);
}

const ast::TypeDecl* Resolver::type_of(const ast::Expr& expr) {
  if (const ast::TypeDecl* known = members_.declaration_of(facts_.type_of(expr.range)); known != nullptr)
    return known;
  switch (expr.kind) {
    case ExprKind::kThis: return type_;
    case ExprKind::kName: {
      const Local* const local = find(expr.name.text);
      if (local != nullptr) {
        if (const Type* type = facts_.type_of_variable(local->name.range); type != nullptr)
          return members_.declaration_of(type);
        if (const auto written = written_types_.find(local->name.range.begin);
            written != written_types_.end())
          return declaration_of(written->second);
        const auto is_it = [&](const ast::Parameter& p) { return p.name.range == local->name.range; };
        const ast::Function* around = function_;
        for (const ast::Function* method :
             type_ != nullptr ? type_->methods : std::vector<ast::Function*>()) {
          if (method->range.begin <= expr.range.begin && expr.range.end <= method->range.end) around = method;
        }
        if (around == nullptr) return nullptr;
        const auto parameter = std::ranges::find_if(around->parameters, is_it);
        return parameter == around->parameters.end() ? nullptr : declaration_of(parameter->type);
      }
      const ast::Field* const field = type_ != nullptr ? find_field(*type_, expr.name.text) : nullptr;
      return field == nullptr ? nullptr : declaration_of(field->type);
    }
    case ExprKind::kCall: return expr.operands.empty() ? nullptr : type_named(*expr.operands[0]);
    default: return nullptr;
  }
}

const ast::Name* Resolver::member_of(const ast::Expr& object, std::string_view name,
                                     const ast::Function*& method) {
  if (const ast::TypeDecl* type = type_of(object); type != nullptr) {
    const Members::Found found = members_.find(*type, name);
    method = found.method;
    return found.name;
  }
  const Type* type = facts_.type_of(object.range);
  if (type != nullptr && type->is(TypeKind::kNullable)) type = type->element;
  const std::string_view methods = type == nullptr ? std::string_view() : library_methods_of(*type);
  if (methods.empty()) return nullptr;
  const auto [entry, fresh] = library_methods_.try_emplace({methods, name}, nullptr);
  if (fresh) entry->second = scope_.library_method(methods, name);
  method = entry->second;
  return method == nullptr ? nullptr : &method->name;
}

void Resolver::member(const ast::Expr& expr) {
  if (expr.name.empty() || expr.operands.empty()) return;
  const ast::Expr& object = *expr.operands[0];
  if (const ast::Module* imported = module_named(object); imported != nullptr) {
    if (const ast::Function* function = find_function(*imported, expr.name.text); function != nullptr)
      return use(expr.name, &function->name);
    if (const ast::Constant* constant = find_constant(*imported, expr.name.text); constant != nullptr)
      return use(expr.name, &constant->name);
    if (const ast::TypeDecl* type = find_type(*imported, expr.name.text); type != nullptr)
      use(expr.name, &type->name);
    return;
  }
  if (const ast::TypeDecl* type = type_named(object);
      type != nullptr && type->kind == ast::TypeDeclKind::kEnum)
    return case_name(expr.name, type);
  const ast::Function* method = nullptr;
  use(expr.name, member_of(object, expr.name.text, method));
}

// The parameters of the callee, as far as it is known.
Parameters Resolver::callee(const ast::Expr& expr) {
  if (expr.kind == ExprKind::kName) {
    if (find(expr.name.text) != nullptr) return {};
    if (type_ != nullptr) {
      if (const Members::Found found = members_.find(*type_, expr.name.text); found.method != nullptr)
        return parameters_of(*found.method);
    }
    if (const ast::Function* function = function_called(expr.name.text); function != nullptr)
      return parameters_of(*function);
  }
  if (const ast::TypeDecl* type = type_named(expr); type != nullptr) return parameters_of(*type);
  if (expr.kind != ExprKind::kMember || expr.operands.empty()) return {};
  const ast::Expr& object = *expr.operands[0];
  if (const ast::Module* imported = module_named(object); imported != nullptr) {
    const ast::Function* const function = find_function(*imported, expr.name.text);
    return function == nullptr ? Parameters() : parameters_of(*function);
  }
  if (const ast::TypeDecl* type = type_named(object); type != nullptr) {
    const ast::EnumCase* const option = find_case(*type, expr.name.text);
    return option == nullptr ? Parameters() : parameters_of(*option);
  }
  const ast::Function* method = nullptr;
  member_of(object, expr.name.text, method);
  return method == nullptr ? Parameters() : parameters_of(*method);
}

void Resolver::call(const ast::Expr& expr) {
  const bool has_names = std::ranges::any_of(
      expr.arguments, [](const ast::Argument& argument) { return !argument.name.empty(); });
  if (!has_names || expr.operands.empty()) return;
  const Parameters parameters = callee(*expr.operands[0]);
  for (const ast::Argument& argument : expr.arguments) {
    for (const ast::Name* name : parameters.names) {
      if (!argument.name.empty() && name->text == argument.name.text) use(argument.name, name);
    }
  }
}

// ------------------------------------------------------------------------------------------------- patterns

void Resolver::arms(const std::vector<ast::Arm>& list, const ast::Expr* subject) {
  const ast::TypeDecl* const type = subject == nullptr ? nullptr : type_of(*subject);
  if (type == nullptr || type->kind != ast::TypeDeclKind::kEnum) return;
  for (const ast::Arm& arm : list) {
    for (const ast::Pattern& pattern : arm.patterns) pattern_case(pattern, type);
  }
}

// The names in the pattern of a case: of `type`, or of any enum if the type is unknown.
void Resolver::pattern_case(const ast::Pattern& pattern, const ast::TypeDecl* type) {
  if (pattern.value == nullptr) return;
  const ast::Expr& written = *pattern.value;
  if (pattern.kind != PatternKind::kCase && pattern.kind != PatternKind::kName) return;
  if (written.kind == ExprKind::kMember) {
    if (!written.operands.empty()) type = type_named(*written.operands[0]);
  } else if (written.kind != ExprKind::kName) {
    return;
  }
  const ast::EnumCase* const option =
      type != nullptr ? find_case(*type, written.name.text) : some_case(written.name.text);
  if (option == nullptr) return;
  if (pattern.kind == PatternKind::kCase || type != nullptr) use(written.name, option->name.range);
  for (const ast::Pattern& part : pattern.parts) {
    for (const ast::Field& value : option->values) {
      if (!part.label.empty() && value.name.text == part.label.text) use(part.label, &value.name);
    }
  }
}

void Resolver::on_pattern(const ast::Pattern& pattern) { pattern_case(pattern, nullptr); }

}  // namespace dhpvm::compiler::lsp
