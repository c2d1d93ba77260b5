// SPDX-License-Identifier: Apache-2.0
// The types of errors: `Error`, and `T!`, a struct of an `Error?` and a T. They are declared in the module `errors` of
// the standard library, which needs no import.
#pragma once

#include <string>
#include <string_view>

#include "compiler/check/symbols.h"

namespace dhpvm::compiler {

class Analysis;

class ErrorTypes {
 public:
  explicit ErrorTypes(Analysis& analysis) : analysis_(analysis) {}

  // The fields of every result, in the order of their declaration.
  static constexpr std::uint32_t kErrorField = 0;
  static constexpr std::uint32_t kValueField = 1;

  void set_module(ModuleSymbols& module) { module_ = &module; }
  const ModuleSymbols* module() const { return module_; }

  // `value!`; the value may be void. The error type after a diagnostic.
  const Type* result_of(const Type* value, SourceRange range);
  // The T of `T!`, void for `void!`, and null for any other type.
  const Type* value_in(const Type* type) const;
  bool is_result(const Type* type) const { return value_in(type) != nullptr; }
  // The results of a native function that returns errors as values: the value, a message or null, and a code.
  const Type* native_result_of(const Type* value, SourceRange range);
  // The class `Error`.
  const Type* error(SourceRange range);
  bool is_error(const Type* type) const;
  // A function of the module, to be called; its body will be checked.
  FunctionInstance& function(std::string_view name, SourceRange range);

  // The name of a result type: "str!", "(fn() -> str)!".
  static std::string name_of(const Type* value);
  bool declares_result(const NominalSymbol& symbol) const;

 private:
  NominalSymbol* type_named(std::string_view name, SourceRange range);
  const Type* instance(std::string_view generic, std::string_view plain, const Type* value,
                       SourceRange range);

  Analysis& analysis_;
  ModuleSymbols* module_ = nullptr;
};

}  // namespace dhpvm::compiler
