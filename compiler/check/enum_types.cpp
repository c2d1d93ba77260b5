// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/enum_types.h"

#include "compiler/check/analysis.h"
#include "compiler/check/body.h"
#include "compiler/check/type_completion.h"

namespace dhpvm::compiler {

namespace {

constexpr std::size_t kMaxCases = 1000;

}  // namespace

// The structs, enums and aliases that a value of type `syntax` contains. Arrays, functions and objects are references.
void EnumTypes::parts_of(const ast::Type* syntax, const NominalSymbol& owner,
                         std::vector<NominalSymbol*>& out) {
  if (syntax == nullptr) return;
  if (syntax->kind == ast::TypeKind::kNullable || syntax->kind == ast::TypeKind::kResult)
    return parts_of(syntax->element, owner, out);
  if (syntax->kind == ast::TypeKind::kTuple) {
    for (const ast::Type* value : syntax->arguments) parts_of(value, owner, out);
    return;
  }
  if (syntax->kind != ast::TypeKind::kNamed) return;
  NominalSymbol* symbol = analysis_.find_type(syntax->qualifier.text, syntax->name.text, syntax->range,
                                              {owner.module, {}}, false);
  if (symbol == nullptr) return;
  const ast::TypeDeclKind kind = symbol->declaration->kind;
  if (kind != ast::TypeDeclKind::kStruct && kind != ast::TypeDeclKind::kEnum && !symbol->is_alias()) return;
  out.push_back(symbol);
  // Conservative: a generic type is assumed to contain its arguments.
  for (const ast::Type* argument : syntax->arguments) parts_of(argument, owner, out);
}

bool EnumTypes::contains_itself(NominalSymbol& symbol) {
  using Recursion = NominalSymbol::Recursion;
  if (symbol.recursion != Recursion::kUnknown) return symbol.recursion == Recursion::kContainsItself;
  std::set<const NominalSymbol*> seen;
  std::vector<NominalSymbol*> open;
  const auto add_parts = [&](const NominalSymbol& whole) {
    parts_of(whole.declaration->aliased, whole, open);
    for (const ast::Field& field : whole.declaration->fields) parts_of(field.type, whole, open);
    for (const ast::EnumCase& option : whole.declaration->cases) {
      for (const ast::Field& value : option.values) parts_of(value.type, whole, open);
    }
  };
  add_parts(symbol);
  while (!open.empty() && !seen.contains(&symbol)) {
    const NominalSymbol* next = open.back();
    open.pop_back();
    if (seen.insert(next).second) add_parts(*next);
  }
  symbol.recursion = seen.contains(&symbol) ? Recursion::kContainsItself : Recursion::kNone;
  return seen.contains(&symbol);
}

// Different cases share fields for values of the same type.
std::uint32_t EnumTypes::field_for(Nominal& nominal, const FieldInfo& value, std::set<std::uint32_t>& taken,
                                   SourceRange range) {
  const std::vector<FieldInfo>& fields = nominal.type->fields;
  for (std::uint32_t i = kCaseField + 1; i < fields.size(); ++i) {
    if (fields[i].type == value.type && taken.insert(i).second) return i;
  }
  const auto fresh = static_cast<std::uint32_t>(fields.size());
  TypeCompletion(analysis_, nominal).add_field({"value" + std::to_string(fresh), value.type, true}, range);
  taken.insert(fresh);
  return fresh;
}

void EnumTypes::complete(Nominal& nominal) {
  const ast::TypeDecl& declaration = *nominal.symbol->declaration;
  constexpr std::size_t kSmall = 256;
  const bool is_small = declaration.cases.size() <= kSmall;
  const Type* number = analysis_.basic(is_small ? TypeKind::kU8 : TypeKind::kU16);
  TypeCompletion(analysis_, nominal).add_field({"case", number, true}, declaration.name.range);
  if (declaration.cases.empty() || declaration.cases.size() > kMaxCases) {
    Diagnostic& diagnostic = analysis_.error(declaration.name.range, "an enum has from 1 to {} cases, not {}",
                                             kMaxCases, declaration.cases.size());
    if (declaration.cases.empty()) diagnostic.help("add `name;` or `name(value: type);`");
  }
  for (const ast::EnumCase& option : declaration.cases) {
    CaseInfo info;
    info.declaration = &option;
    std::set<std::uint32_t> taken;
    for (const ast::Field& value : option.values) {
      const Type* type = analysis_.resolve(value.type, nominal.context);
      if (type->is(TypeKind::kFixedArray)) {
        analysis_.error(value.type->range, "a fixed array is no value of a case")
            .help("use an array: `[{}]`", type->element->name);
        type = analysis_.basic(TypeKind::kError);
      }
      info.values.push_back({std::string(value.name.text), type, true});
      info.fields.push_back(field_for(nominal, info.values.back(), taken, value.range));
      info.values.back().type = nominal.type->fields[info.fields.back()].type;
    }
    nominal.cases.push_back(std::move(info));
  }
}

const std::vector<CaseInfo>& EnumTypes::cases(const Type* type) {
  Nominal& nominal = *analysis_.nominal(type);
  analysis_.complete(nominal);
  return nominal.cases;
}

const CaseInfo* EnumTypes::find_case(const Type* type, std::string_view name, std::uint32_t& index) {
  const std::vector<CaseInfo>& all = cases(type);
  for (index = 0; index < all.size(); ++index) {
    if (all[index].name() == name) return &all[index];
  }
  return nullptr;
}

bool EnumTypes::is_plain(const Type* type) {
  for (const CaseInfo& option : cases(type)) {
    if (!option.values.empty()) return false;
  }
  return true;
}

bool EnumTypes::compares_inside(const Type* type) {
  if (type->is(TypeKind::kNullable)) return compares_inside(type->element);
  if ((type->is_enum && type->is(TypeKind::kClass)) || analysis_.has_equals(type)) return true;
  if (!type->is(TypeKind::kStruct)) return false;
  analysis_.complete(*analysis_.nominal(type));
  for (const FieldInfo& field : type->fields) {
    if (compares_inside(field.type)) return true;
  }
  return false;
}

hir::Function* EnumTypes::derived(const Type* type, DerivedKind kind, SourceRange range) {
  auto [entry, fresh] = derived_.try_emplace({type, kind}, nullptr);
  if (!fresh) return entry->second;
  hir::Function& function = analysis_.program().function_arena.emplace_back();
  entry->second = &function;  // inserted before its body is written, which may call it
  analysis_.program().functions.push_back(&function);
  function.position = analysis_.position(range);
  write_derived(analysis_, type, kind, function, range);
  return &function;
}

}  // namespace dhpvm::compiler
