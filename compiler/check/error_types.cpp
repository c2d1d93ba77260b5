// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/error_types.h"

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

namespace {

constexpr std::string_view kResult = "Result";
constexpr std::string_view kOutcome = "Outcome";  // `void!`
constexpr std::string_view kError = "Error";

}  // namespace

NominalSymbol* ErrorTypes::type_named(std::string_view name, SourceRange range) {
  if (module_ != nullptr) return module_->types.at(name);
  analysis_.error(range, "errors need the module 'errors' of the standard library, which is not there");
  return nullptr;
}

const Type* ErrorTypes::result_of(const Type* value, SourceRange range) {
  if (value->is(TypeKind::kError)) return value;
  if (is_error(value) || is_result(value)) {
    analysis_.error(range, "a '{}' is no value of a result", value->name)
        .help("give another type, or `void!` for an error alone");
    return analysis_.basic(TypeKind::kError);
  }
  return instance(kResult, kOutcome, value, range);
}

const Type* ErrorTypes::native_result_of(const Type* value, SourceRange range) {
  return instance("NativeResult", "NativeOutcome", value, range);
}

// The generic type with this value, or the plain one for void.
const Type* ErrorTypes::instance(std::string_view generic, std::string_view plain, const Type* value,
                                 SourceRange range) {
  const bool empty = value->is(TypeKind::kVoid);
  NominalSymbol* symbol = type_named(empty ? plain : generic, range);
  if (symbol == nullptr) return analysis_.basic(TypeKind::kError);
  std::vector<const Type*> arguments;
  if (!empty) arguments.push_back(value);
  const Type* type = analysis_.instantiate(*symbol, std::move(arguments), range);
  if (Nominal* nominal = analysis_.nominal(type); nominal != nullptr) analysis_.complete(*nominal);
  return type;
}

bool ErrorTypes::declares_result(const NominalSymbol& symbol) const {
  return module_ != nullptr && symbol.module == module_ &&
         (symbol.name() == kResult || symbol.name() == kOutcome);
}

const Type* ErrorTypes::value_in(const Type* type) const {
  if (module_ == nullptr || !type->is(TypeKind::kStruct)) return nullptr;
  const Nominal* nominal = analysis_.nominal(type);
  if (nominal == nullptr || !declares_result(*nominal->symbol)) return nullptr;
  return nominal->arguments.empty() ? analysis_.basic(TypeKind::kVoid) : nominal->arguments[0];
}

const Type* ErrorTypes::error(SourceRange range) {
  NominalSymbol* symbol = type_named(kError, range);
  return symbol == nullptr ? analysis_.basic(TypeKind::kError) : analysis_.instantiate(*symbol, {}, range);
}

bool ErrorTypes::is_error(const Type* type) const {
  if (module_ == nullptr || !type->is(TypeKind::kClass)) return false;
  const Nominal* nominal = analysis_.nominal(type);
  return nominal != nullptr && nominal->symbol->module == module_ && nominal->symbol->name() == kError;
}

FunctionInstance& ErrorTypes::function(std::string_view name, SourceRange range) {
  FunctionInstance& instance = analysis_.instantiate(*module_->functions.at(name), nullptr, {}, range);
  analysis_.use(instance);
  return instance;
}

std::string ErrorTypes::name_of(const Type* value) {
  return value->is(TypeKind::kFunction) ? "(" + value->name + ")!" : value->name + "!";
}

}  // namespace dhpvm::compiler
