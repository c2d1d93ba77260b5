// SPDX-License-Identifier: Apache-2.0
// Collecting the declarations of every module, and checking those that are not generic.
#include "compiler/check/analysis.h"
#include "compiler/check/body.h"

namespace dhpvm::compiler {

namespace {

bool is_builtin_type(std::string_view name) {
  constexpr std::string_view kNames[] = {"bool", "i8",  "u8",  "i16", "u16", "i32",      "u32",
                                         "i64",  "u64", "f32", "f64", "str", "resource", "Weak"};
  for (std::string_view known : kNames) {
    if (known == name) return true;
  }
  return false;
}

// Reports a name that is declared already.
void check_duplicate(Analysis& analysis, std::map<std::string_view, SourceRange>& seen,
                     const ast::Name& name) {
  if (name.empty()) return;
  auto [entry, fresh] = seen.try_emplace(name.text, name.range);
  if (!fresh) {
    analysis.error(name.range, "'{}' is declared twice", name.text)
        .note(entry->second, "first declared here");
  }
}

// Checks a generic function as far as possible without its type arguments.
void check_template(Analysis& analysis, const ast::Function& function) {
  std::map<std::string_view, SourceRange> seen;
  for (const ast::Parameter& parameter : function.parameters) check_duplicate(analysis, seen, parameter.name);
  std::map<std::string_view, SourceRange> types;
  for (const ast::TypeParameter& parameter : function.type_parameters) {
    check_duplicate(analysis, types, parameter.name);
  }
}

}  // namespace

void Analysis::collect(const ast::Module& module) {
  ModuleSymbols& symbols = *modules_by_ast_.at(&module);
  std::map<std::string_view, SourceRange> seen;
  for (const ast::Constant* constant : module.constants) {
    check_duplicate(*this, seen, constant->name);
    ConstantSymbol& symbol = constants_.emplace_back();
    symbol.declaration = constant;
    symbol.module = &symbols;
    symbols.constants.try_emplace(constant->name.text, &symbol);
  }
  for (const ast::Function* function : module.functions) {
    check_duplicate(*this, seen, function->name);
    FunctionSymbol& symbol = functions_.emplace_back();
    symbol.declaration = function;
    symbol.module = &symbols;
    symbols.functions.try_emplace(function->name.text, &symbol);
    if (function->linkage == ast::Linkage::kIntrinsic && !module.is_stdlib) {
      error(function->name.range, "`intrinsic` is for the standard library")
          .help("write `extern fn {}...` for a function that the host provides", function->name.text);
    }
  }
  for (const ast::TypeDecl* type : module.types) {
    check_duplicate(*this, seen, type->name);
    if (is_builtin_type(type->name.text)) {
      error(type->name.range, "'{}' is a built-in type", type->name.text).help("choose another name");
    }
    collect_type(symbols, *type);
  }
  std::map<std::string_view, SourceRange> imported;
  for (const ast::Import& import : module.imports) {
    check_duplicate(*this, imported, import.name);
    if (import.module != nullptr) {
      symbols.imports.try_emplace(import.name.text, modules_by_ast_.at(import.module));
    }
  }
}

void Analysis::collect_type(ModuleSymbols& symbols, const ast::TypeDecl& declaration) {
  NominalSymbol& symbol = nominal_symbols_.emplace_back();
  symbol.declaration = &declaration;
  symbol.module = &symbols;
  symbols.types.try_emplace(declaration.name.text, &symbol);

  std::map<std::string_view, SourceRange> seen;
  for (const ast::Field& field : declaration.fields) check_duplicate(*this, seen, field.name);
  for (const ast::EnumCase& option : declaration.cases) {
    check_duplicate(*this, seen, option.name);
    std::map<std::string_view, SourceRange> values;
    for (const ast::Field& value : option.values) check_duplicate(*this, values, value.name);
  }
  for (const ast::Function* method : declaration.methods) {
    check_duplicate(*this, seen, method->name);
    FunctionSymbol& function = functions_.emplace_back();
    function.declaration = method;
    function.module = &symbols;
    function.owner = &symbol;
    symbol.methods.try_emplace(method->name.text, &function);
  }
  if (declaration.init != nullptr) {
    FunctionSymbol& function = functions_.emplace_back();
    function.declaration = declaration.init;
    function.module = &symbols;
    function.owner = &symbol;
    symbol.init = &function;
  }
}

void Analysis::check_declarations(ModuleSymbols& symbols) {
  const bool root = &symbols == &modules_.front();
  for (const ast::TypeDecl* declaration : symbols.module->types) {
    NominalSymbol& symbol = *symbols.types.at(declaration->name.text);
    if (symbol.declaration != declaration) continue;  // a duplicate, which was reported
    for (const ast::Function* method : declaration->methods) check_template(*this, *method);
    if (!declaration->type_parameters.empty()) continue;
    const Type* type = instantiate(symbol, {}, declaration->name.range);
    Nominal* owner = nominal(type);
    if (owner == nullptr) continue;
    for (const ast::Function* method : declaration->methods) {
      if (!method->has_body()) continue;
      FunctionSymbol* function = symbol.methods.at(method->name.text);
      if (function->declaration == method && method->type_parameters.empty()) {
        use(instantiate(*function, owner, {}, method->name.range));
      }
    }
    if (symbol.init != nullptr) use(instantiate(*symbol.init, owner, {}, declaration->name.range));
  }
  for (const ast::Constant* constant : symbols.module->constants) {
    ConstantSymbol* symbol = symbols.constants.at(constant->name.text);
    if (symbol->declaration == constant) constant_values_.value_of(*symbol, constant->name.range);
  }
  for (const ast::Function* function : symbols.module->functions) {
    FunctionSymbol* symbol = symbols.functions.at(function->name.text);
    if (symbol->declaration != function) continue;
    check_template(*this, *function);
    if (!function->type_parameters.empty()) {
      if (root && function->name.text == "main") error(function->name.range, "'main' cannot be generic");
      continue;
    }
    FunctionInstance& instance = instantiate(*symbol, nullptr, {}, function->name.range);
    if (function->linkage == ast::Linkage::kExtern) native(instance);
    hir::Function* const body = use(instance);
    if (body != nullptr && root) body->exported = !takes_fixed_arrays(instance.parameters);
  }
}

void Analysis::check_entry(ModuleSymbols& root) {
  auto entry = root.functions.find("main");
  if (entry == root.functions.end()) return;
  FunctionSymbol& symbol = *entry->second;
  if (symbol.is_generic()) return;  // reported
  FunctionInstance& instance = instantiate(symbol, nullptr, {}, symbol.declaration->name.range);
  if (instance.function == nullptr) {
    error(symbol.declaration->name.range, "'main' must have a body");
    return;
  }
  const Type* result = result_of(instance, symbol.declaration->name.range);
  const Type* const value = errors_.value_in(result);
  if (value != nullptr) result = value;
  const bool result_fits =
      result->is(TypeKind::kVoid) || result->is(TypeKind::kI32) || result->is(TypeKind::kError);
  const bool parameters_fit =
      instance.parameters.empty() || (instance.parameters.size() == 1 &&
                                      (instance.parameters[0] == types().array(basic(TypeKind::kStr), 1) ||
                                       instance.parameters[0]->is(TypeKind::kError)));
  if (!result_fits || !parameters_fit) {
    error(symbol.declaration->name.range,
          "'main' takes nothing or one `[str]`, and gives nothing, an `i32`, or one of these or an error")
        .help("write `fn main()`, `fn main(args: [str]) -> i32` or `fn main() -> void!`");
    return;
  }
  use(instance);
  program_.entry = value != nullptr ? entry_of(*this, instance) : instance.function;
}

}  // namespace dhpvm::compiler
