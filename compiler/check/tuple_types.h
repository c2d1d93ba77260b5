// SPDX-License-Identifier: Apache-2.0
// The types of tuples: structs with fields "0", "1" and so on, whose declaration the checker makes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "compiler/check/symbols.h"

namespace dhpvm::compiler {

class Analysis;

class TupleTypes {
 public:
  explicit TupleTypes(Analysis& analysis) : analysis_(analysis) {}

  static constexpr std::size_t kMost = 8;  // values

  // `(A, B)`; the error type after a diagnostic.
  const Type* of(std::vector<const Type*> values, SourceRange range);
  bool declares(const NominalSymbol& symbol) const;
  bool is_tuple(const Type* type) const;
  // Whether the type is a tuple of `count` values; otherwise reports an error about `parts`, such as `(a, b)`.
  bool expect(const Type* type, std::size_t count, SourceRange parts);
  // "(i64, str)"
  static std::string name_of(const std::vector<const Type*>& values);

 private:
  // The generic struct for tuples of one size, as if it were declared in a source.
  struct Declaration {
    ast::TypeDecl syntax;
    std::array<ast::Type, kMost> types;
    NominalSymbol symbol;
  };
  NominalSymbol& symbol_for(std::size_t count);

  Analysis& analysis_;
  ModuleSymbols module_;
  std::array<Declaration, kMost + 1> declarations_;
};

}  // namespace dhpvm::compiler
