// SPDX-License-Identifier: Apache-2.0
// From the syntax of types to types.
#include "base/spelling.h"
#include "compiler/check/analysis.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

namespace {

constexpr TypeKind kNamedBasics[] = {TypeKind::kBool,    TypeKind::kI8,  TypeKind::kU8,  TypeKind::kI16,
                                     TypeKind::kU16,     TypeKind::kI32, TypeKind::kU32, TypeKind::kI64,
                                     TypeKind::kU64,     TypeKind::kF32, TypeKind::kF64, TypeKind::kStr,
                                     TypeKind::kResource};

}  // namespace

std::vector<std::string> Analysis::names_of_types(const TypeContext& context) {
  std::vector<std::string> names;
  for (TypeKind kind : kNamedBasics) names.push_back(basic(kind)->name);
  names.emplace_back("Weak");
  for (const auto& [name, type] : context.bindings) names.emplace_back(name);
  for (const auto& [name, symbol] : context.module->types) names.emplace_back(name);
  for (const auto& [module_name, module] : context.module->imports) {
    for (const auto& [name, symbol] : module->types) names.emplace_back(name);
  }
  return names;
}

NominalSymbol* Analysis::find_type(std::string_view qualifier, std::string_view name, SourceRange range,
                                   const TypeContext& context, bool report_missing) {
  if (!qualifier.empty()) {
    auto module = context.module->imports.find(qualifier);
    if (module == context.module->imports.end()) {
      if (report_missing) {
        error(range, "no module '{}' is imported here", qualifier).help("add `import {};`", qualifier);
      }
      return nullptr;
    }
    auto type = module->second->types.find(name);
    if (type != module->second->types.end()) return type->second;
    if (report_missing) {
      Diagnostic& diagnostic = error(range, "module '{}' has no type '{}'", qualifier, name);
      std::vector<std::string_view> names;
      for (const auto& [known, symbol] : module->second->types) names.push_back(known);
      if (std::string_view near = nearest_name(name, names); !near.empty()) {
        diagnostic.help("write `{}.{}`", qualifier, near);
      }
    }
    return nullptr;
  }
  auto own = context.module->types.find(name);
  if (own != context.module->types.end()) return own->second;
  NominalSymbol* found = nullptr;
  std::string_view found_in;
  for (const auto& [module_name, module] : context.module->imports) {
    auto type = module->types.find(name);
    if (type == module->types.end() || type->second == found) continue;
    if (found != nullptr) {
      error(range, "'{}' is declared in '{}' and in '{}'", name, found_in, module_name)
          .help("write `{}.{}` or `{}.{}`", found_in, name, module_name, name);
      return found;
    }
    found = type->second;
    found_in = module_name;
  }
  if (found == nullptr && report_missing) {
    Diagnostic& diagnostic = error(range, "no type '{}' here", name);
    const std::vector<std::string> names = names_of_types(context);
    std::string_view near = type_for_foreign(name);
    const std::string_view library = library_module_of(near.empty() ? name : near);
    if (!library.empty() && !context.module->imports.contains(library)) {
      diagnostic.help("add `import {};` at the top of the file", library);
      if (!near.empty()) diagnostic.help("write `{}`", near);
      return nullptr;
    }
    if (near.empty()) near = nearest_name(name, std::vector<std::string_view>(names.begin(), names.end()));
    if (!near.empty()) {
      diagnostic.help("write `{}`", near);
    } else if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
      diagnostic.help("declare it as a type parameter: `fn f<{}>(...)`, `class C<{}>`", name, name);
    }
  }
  return found;
}

const Type* Analysis::resolve(const ast::Type* syntax, const TypeContext& context) {
  const Type* const wrong = basic(TypeKind::kError);
  if (syntax == nullptr) return basic(TypeKind::kVoid);
  switch (syntax->kind) {
    case ast::TypeKind::kError: return wrong;
    case ast::TypeKind::kNamed: break;
    case ast::TypeKind::kArray: {
      const Type* element = resolve(syntax->element, context);
      if (element->is(TypeKind::kError)) return wrong;
      if (element->is(TypeKind::kFixedArray)) {
        error(syntax->element->range, "an array cannot hold fixed arrays")
            .help("use an array of rank 2, such as `[{}, 2]`", element->element->name);
        return wrong;
      }
      return types().array(element, syntax->rank);
    }
    case ast::TypeKind::kFixedArray: {
      const Type* element = resolve(syntax->element, context);
      const hir::Expr* count =
          constant_expression(*syntax->count, context, basic(TypeKind::kI64), "the size of a fixed array");
      if (element->is(TypeKind::kError) || count == nullptr) return wrong;
      if (!element->is_primitive()) {
        error(syntax->element->range, "a fixed array holds numbers or bool, not '{}'", element->name)
            .help("use an array: `[{}]`", element->name);
        return wrong;
      }
      constexpr std::int64_t kMaxCount = 1 << 16;
      const auto size = static_cast<std::int64_t>(count->integer);
      if (!count->type->is_integer() || size <= 0 || size > kMaxCount) {
        error(syntax->count->range, "the size of a fixed array is a number from 1 to {}", kMaxCount)
            .help("for more elements use an array: `[{}](n)`", element->name);
        return wrong;
      }
      return types().fixed_array(element, static_cast<std::uint64_t>(size));
    }
    case ast::TypeKind::kNullable: {
      const Type* element = resolve(syntax->element, context);
      if (element->is(TypeKind::kFixedArray)) {
        error(syntax->range, "a fixed array cannot be null");
        return wrong;
      }
      return types().nullable(element);
    }
    case ast::TypeKind::kFunction: {
      std::vector<const Type*> parameters;
      bool good = true;
      for (const ast::Type* argument : syntax->arguments) {
        parameters.push_back(resolve(argument, context));
        if (parameters.back()->is(TypeKind::kFixedArray)) {
          error(argument->range, "a fixed array cannot be a parameter")
              .help("use an array: `[{}]`", parameters.back()->element->name);
          good = false;
        }
        good = good && !parameters.back()->is(TypeKind::kError);
      }
      const Type* result = resolve(syntax->element, context);
      return good && !result->is(TypeKind::kError) ? types().function(std::move(parameters), result) : wrong;
    }
  }

  std::vector<const Type*> arguments;
  for (const ast::Type* argument : syntax->arguments) {
    arguments.push_back(resolve(argument, context));
    if (arguments.back()->is(TypeKind::kError)) return wrong;
    if (arguments.back()->is(TypeKind::kFixedArray)) {
      error(argument->range, "a fixed array cannot be a type argument");
      return wrong;
    }
  }
  const std::string_view name = syntax->name.text;
  if (syntax->qualifier.empty()) {
    const Type* simple = find_binding(context.bindings, name);
    for (TypeKind kind : kNamedBasics) {
      if (simple == nullptr && basic(kind)->name == name) simple = basic(kind);
    }
    if (simple != nullptr) {
      if (!arguments.empty()) error(syntax->range, "'{}' takes no type arguments", name);
      return simple;
    }
    if (name == "Weak") {
      if (arguments.size() != 1 ||
          !(arguments[0]->is(TypeKind::kClass) || arguments[0]->is(TypeKind::kInterface))) {
        error(syntax->range, "'Weak' takes one class or interface").help("write `Weak<SomeClass>`");
        return wrong;
      }
      return types().weak(arguments[0]);
    }
  }
  NominalSymbol* symbol = find_type(syntax->qualifier.text, name, syntax->range, context, true);
  if (symbol == nullptr) return wrong;
  return instantiate(*symbol, std::move(arguments), syntax->range);
}

}  // namespace dhpvm::compiler
