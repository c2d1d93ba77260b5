// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/tuple_types.h"

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

namespace {

constexpr std::array<std::string_view, TupleTypes::kMost> kFields = {"0", "1", "2", "3", "4", "5", "6", "7"};
constexpr std::array<std::string_view, TupleTypes::kMost> kParameters = {"A", "B", "C", "D",
                                                                         "E", "F", "G", "H"};

}  // namespace

NominalSymbol& TupleTypes::symbol_for(std::size_t count) {
  Declaration& made = declarations_[count];
  if (made.symbol.declaration != nullptr) return made.symbol;
  for (std::size_t i = 0; i < count; ++i) {
    made.types[i].kind = ast::TypeKind::kNamed;
    made.types[i].name.text = kParameters[i];
    made.syntax.type_parameters.push_back({{kParameters[i], {}}, nullptr});
    ast::Field& field = made.syntax.fields.emplace_back();
    field.name.text = kFields[i];
    field.type = &made.types[i];
  }
  made.symbol.declaration = &made.syntax;
  made.symbol.module = &module_;
  return made.symbol;
}

const Type* TupleTypes::of(std::vector<const Type*> values, SourceRange range) {
  for (const Type* value : values) {
    if (value->is(TypeKind::kError)) return value;
  }
  if (values.size() > kMost) {
    analysis_.error(range, "a tuple has at most {} values, not {}", kMost, values.size())
        .help("declare a struct, whose fields have names");
    return analysis_.basic(TypeKind::kError);
  }
  NominalSymbol& symbol = symbol_for(values.size());
  const Type* type = analysis_.instantiate(symbol, std::move(values), range);
  if (Nominal* nominal = analysis_.nominal(type); nominal != nullptr) analysis_.complete(*nominal);
  return type;
}

bool TupleTypes::declares(const NominalSymbol& symbol) const { return symbol.module == &module_; }

bool TupleTypes::expect(const Type* type, std::size_t count, SourceRange parts) {
  const std::size_t values = type->fields.size();
  if (!is_tuple(type)) {
    Diagnostic& made = analysis_.error(parts, "a '{}' is no tuple of {} values", type->name, count);
    if (type->is(TypeKind::kArray)) made.help("take the elements of an array by their positions: `a[0]`");
    return false;
  }
  if (values == count) return true;
  Diagnostic& made = analysis_.error(parts, "a '{}' has {} values, not {}", type->name, values, count);
  std::string_view text = analysis_.diagnostics().sources().text(parts);
  if (count > values || !text.ends_with(')')) return false;
  std::string longer(text.substr(0, text.size() - 1));
  for (std::size_t missing = count; missing < values; ++missing) longer += ", _";
  made.help("`_` leaves a value out: `{})`", longer);
  return false;
}

bool TupleTypes::is_tuple(const Type* type) const {
  if (!type->is(TypeKind::kStruct)) return false;
  const Nominal* nominal = analysis_.nominal(type);
  return nominal != nullptr && declares(*nominal->symbol);
}

std::string TupleTypes::name_of(const std::vector<const Type*>& values) {
  std::string text;
  for (const Type* value : values) text += (text.empty() ? "" : ", ") + value->name;
  return "(" + text + ")";
}

}  // namespace dhpvm::compiler
