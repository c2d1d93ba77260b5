// SPDX-License-Identifier: Apache-2.0
// Resolves the syntax of types.
#include <algorithm>

#include "base/spelling.h"
#include "compiler/check/analysis.h"
#include "compiler/parse/imports.h"
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

ModuleSymbols* Analysis::find_module(std::string_view name, const ModuleSymbols& from) const {
  if (const auto import = from.imports.find(name); import != from.imports.end()) return import->second;
  for (ModuleSymbols* known : known_modules_) {
    if (known->name == name && known != errors_.module()) return known;
  }
  return nullptr;
}

NominalSymbol* Analysis::find_type(std::string_view qualifier, std::string_view name, SourceRange range,
                                   const TypeContext& context, bool report_missing) {
  if (!qualifier.empty()) {
    const ModuleSymbols* module = find_module(qualifier, *context.module);
    if (module == nullptr) {
      if (report_missing) {
        error(range, "no module '{}' is imported here", qualifier).help("add `import {};`", qualifier);
      }
      return nullptr;
    }
    auto type = module->types.find(name);
    if (type != module->types.end()) return type->second;
    if (report_missing) {
      Diagnostic& diagnostic = error(range, "module '{}' has no type '{}'", qualifier, name);
      std::vector<std::string_view> names;
      for (const auto& [known, symbol] : module->types) names.push_back(known);
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
  for (const ModuleSymbols* everywhere : known_modules_) {
    if (found != nullptr) break;
    if (auto type = everywhere->types.find(name); type != everywhere->types.end()) return type->second;
  }
  if (found == nullptr && report_missing) {
    Diagnostic& diagnostic = error(range, "no type '{}' here", name);
    const std::vector<std::string> names = names_of_types(context);
    std::string_view near = type_for_foreign(name);
    const std::string_view library = library_module_of(near.empty() ? name : near);
    if (!library.empty() && !is_known_module(library) && !context.module->imports.contains(library)) {
      diagnostic.help("add `import {};` at the top of the file", library);
      if (!near.empty()) diagnostic.help("write `{}`", near);
      return nullptr;
    }
    if (near.empty()) near = nearest_name(name, std::vector<std::string_view>(names.begin(), names.end()));
    if (!near.empty()) {
      diagnostic.help("write `{}`", near);
    } else if (value_for_foreign(name) == "null") {
      diagnostic.help("write `x == null`");
    } else if (const std::string_view advice = advice_for_foreign(name); !advice.empty()) {
      diagnostic.help("{}", advice);
    } else if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
      diagnostic.help("declare it as a type parameter: `fn f<{}>(...)`, `class C<{}>`", name, name);
    }
  }
  return found;
}

namespace {

// Resolves written types in one context.
class TypeResolver {
 public:
  TypeResolver(Analysis& analysis, const TypeContext& context) : analysis_(analysis), context_(context) {}

  const Type* resolve(const ast::Type* syntax) {
    if (syntax == nullptr) return analysis_.basic(TypeKind::kVoid);
    switch (syntax->kind) {
      case ast::TypeKind::kError: return wrong();
      case ast::TypeKind::kNamed: return named(*syntax);
      case ast::TypeKind::kArray: return array(*syntax);
      case ast::TypeKind::kFixedArray: return fixed_array(*syntax);
      case ast::TypeKind::kNullable: return nullable(*syntax);
      case ast::TypeKind::kResult: return failing(*syntax);
      case ast::TypeKind::kFunction: return function(*syntax);
      case ast::TypeKind::kTuple: return tuple(*syntax);
    }
    return wrong();
  }

 private:
  const Type* wrong() const { return analysis_.basic(TypeKind::kError); }
  TypeTable& types() { return analysis_.types(); }

  const Type* array(const ast::Type& syntax);
  const Type* fixed_array(const ast::Type& syntax);
  const Type* nullable(const ast::Type& syntax);
  const Type* failing(const ast::Type& syntax);
  bool may_be_fixed(const Type* element);
  const Type* function(const ast::Type& syntax);
  const Type* tuple(const ast::Type& syntax);
  const Type* named(const ast::Type& syntax);
  const Type* simple(std::string_view name) const;
  const Type* weak(const ast::Type& syntax, const std::vector<const Type*>& arguments);

  Analysis& analysis_;
  const TypeContext& context_;
};

const Type* TypeResolver::array(const ast::Type& syntax) {
  const Type* element = resolve(syntax.element);
  if (element->is(TypeKind::kError)) return wrong();
  if (element->is(TypeKind::kFixedArray)) {
    analysis_.error(syntax.element->range, "an array cannot hold fixed arrays")
        .help("use an array of rank 2, such as `[{}, 2]`", element->element->name);
    return wrong();
  }
  return types().array(element, syntax.rank);
}

const Type* TypeResolver::fixed_array(const ast::Type& syntax) {
  const Type* element = resolve(syntax.element);
  constexpr std::uint64_t kMaxCount = 1 << 16;
  std::uint64_t sizes[2] = {0, 1};
  bool good = !element->is(TypeKind::kError);
  for (const ast::Expr* part : {syntax.count, syntax.columns}) {
    if (part == nullptr) continue;
    const hir::Expr* size =
        analysis_.constants().expression(*part, context_, analysis_.basic(TypeKind::kI64), kFixedArraySize);
    good = good && size != nullptr;
    if (size == nullptr) continue;
    sizes[part == syntax.count ? 0 : 1] = size->integer;
    if (size->type->is_integer() && size->integer - 1 < kMaxCount) continue;
    analysis_.error(part->range, "the size of a fixed array is a number from 1 to {}", kMaxCount)
        .help("for more elements use an array: `[{}](n)`", element->name);
    good = false;
  }
  if (!good) return wrong();
  if (sizes[0] * sizes[1] > kMaxCount) {
    analysis_
        .error(syntax.range, "a fixed array has at most {} elements, and this has {}", kMaxCount,
               sizes[0] * sizes[1])
        .help("use an array: `[{}, 2](rows, cols)`", element->name);
    return wrong();
  }
  if (!may_be_fixed(element)) {
    analysis_
        .error(syntax.element->range, "a fixed array holds numbers, bool, or structs of these, not '{}'",
               element->name)
        .help("use an array: `[{}]`", element->name);
    return wrong();
  }
  return syntax.columns == nullptr ? types().fixed_array(element, sizes[0])
                                   : types().fixed_array(element, sizes[0], sizes[1]);
}

// Whether the type consists of numbers and bool alone, at least one, and zero is a valid value.
bool TypeResolver::may_be_fixed(const Type* element) {
  if (element->is(TypeKind::kNullable)) element = element->element;
  if (element->is_primitive()) return true;
  if (!element->is(TypeKind::kStruct) || element->is_enum) return false;
  analysis_.complete(*analysis_.nominal(element));
  return !element->fields.empty() && std::ranges::all_of(element->fields, [&](const FieldInfo& field) {
    return may_be_fixed(field.type);
  });
}

const Type* TypeResolver::nullable(const ast::Type& syntax) {
  const Type* element = resolve(syntax.element);
  if (element->is(TypeKind::kFixedArray)) {
    analysis_.error(syntax.range, "a fixed array cannot be null");
    return wrong();
  }
  return types().nullable(element);
}

const Type* TypeResolver::failing(const ast::Type& syntax) {
  const ast::Type& value = *syntax.element;
  const bool empty =
      value.kind == ast::TypeKind::kNamed && value.qualifier.empty() && value.name.text == "void";
  const Type* element = empty ? analysis_.basic(TypeKind::kVoid) : resolve(&value);
  if (element->is(TypeKind::kFixedArray)) {
    analysis_.error(syntax.range, "a fixed array is no value of a result");
    return wrong();
  }
  return analysis_.errors().result_of(element, syntax.range);
}

const Type* TypeResolver::function(const ast::Type& syntax) {
  std::vector<const Type*> parameters;
  bool good = true;
  for (const ast::Type* argument : syntax.arguments) {
    parameters.push_back(resolve(argument));
    if (parameters.back()->is(TypeKind::kFixedArray)) {
      analysis_.error(argument->range, "a fixed array cannot be a parameter")
          .help("use an array: `[{}]`", parameters.back()->element->name);
      good = false;
    }
    good = good && !parameters.back()->is(TypeKind::kError);
  }
  const Type* result = resolve(syntax.element);
  return good && !result->is(TypeKind::kError) ? types().function(std::move(parameters), result) : wrong();
}

const Type* TypeResolver::tuple(const ast::Type& syntax) {
  std::vector<const Type*> values;
  for (const ast::Type* argument : syntax.arguments) {
    values.push_back(resolve(argument));
    if (!values.back()->is(TypeKind::kFixedArray)) continue;
    analysis_.error(argument->range, "a fixed array is no value of a tuple")
        .help("use an array: `[{}]`", values.back()->element->name);
    return wrong();
  }
  return analysis_.tuples().of(std::move(values), syntax.range);
}

const Type* TypeResolver::named(const ast::Type& syntax) {
  std::vector<const Type*> arguments;
  for (const ast::Type* argument : syntax.arguments) {
    arguments.push_back(resolve(argument));
    if (arguments.back()->is(TypeKind::kError)) return wrong();
    if (arguments.back()->is(TypeKind::kFixedArray)) {
      analysis_.error(argument->range, "a fixed array cannot be a type argument");
      return wrong();
    }
  }
  const std::string_view name = syntax.name.text;
  if (syntax.qualifier.empty()) {
    if (const Type* const known = simple(name); known != nullptr) {
      if (!arguments.empty()) analysis_.error(syntax.range, "'{}' takes no type arguments", name);
      return known;
    }
    if (name == "Weak") return weak(syntax, arguments);
  }
  NominalSymbol* symbol = analysis_.find_type(syntax.qualifier.text, name, syntax.range, context_, true);
  if (symbol == nullptr) return wrong();
  if (analysis_.errors().declares_result(*symbol) && arguments.size() == 1)
    return analysis_.errors().result_of(arguments[0], syntax.range);
  return analysis_.instantiate(*symbol, std::move(arguments), syntax.range);
}

// A type parameter, or a built-in type; null for any other name.
const Type* TypeResolver::simple(std::string_view name) const {
  if (const Type* const bound = find_binding(context_.bindings, name); bound != nullptr) return bound;
  for (const TypeKind kind : kNamedBasics) {
    if (analysis_.basic(kind)->name == name) return analysis_.basic(kind);
  }
  return nullptr;
}

const Type* TypeResolver::weak(const ast::Type& syntax, const std::vector<const Type*>& arguments) {
  const bool one_object = arguments.size() == 1 && !arguments[0]->is_enum &&
                          (arguments[0]->is(TypeKind::kClass) || arguments[0]->is(TypeKind::kInterface));
  if (one_object) return types().weak(arguments[0]);
  analysis_.error(syntax.range, "'Weak' takes one class or interface").help("write `Weak<SomeClass>`");
  return wrong();
}

}  // namespace

const Type* Analysis::resolve(const ast::Type* syntax, const TypeContext& context) {
  return TypeResolver(*this, context).resolve(syntax);
}

}  // namespace dhpvm::compiler
