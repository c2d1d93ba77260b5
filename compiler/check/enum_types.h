// SPDX-License-Identifier: Apache-2.0
// The types of enums: the layout of their cases in fields, and their derived functions for text, hash and equality.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/check/symbols.h"

namespace dhpvm::compiler {

class Analysis;

// The functions that the compiler writes for an enum.
enum class DerivedKind : std::uint8_t { kText, kTextInTrap, kHash, kEquals };

class EnumTypes {
 public:
  explicit EnumTypes(Analysis& analysis) : analysis_(analysis) {}

  // The field that holds the number of the case.
  static constexpr std::uint32_t kCaseField = 0;

  // Whether a value can contain one of the same enum without an array or object between: the enum is an object then.
  bool contains_itself(NominalSymbol& symbol);
  // Resolves the values of all cases and assigns them to fields.
  void complete(Nominal& nominal);
  const std::vector<CaseInfo>& cases(const Type* type);
  // The case of this name, or null.
  const CaseInfo* find_case(const Type* type, std::string_view name, std::uint32_t& index);
  // Whether no case has values: the enum is a number.
  bool is_plain(const Type* type);
  // Whether `==` compares the fields, or calls a method `equals`.
  bool compares_inside(const Type* type);
  // The derived function of this kind for `type`, made at the first request.
  hir::Function* derived(const Type* type, DerivedKind kind, SourceRange range);

 private:
  void parts_of(const ast::Type* syntax, const NominalSymbol& owner, std::vector<NominalSymbol*>& out);
  std::uint32_t field_for(Nominal& nominal, const FieldInfo& value, std::set<std::uint32_t>& taken,
                          SourceRange range);

  Analysis& analysis_;
  std::map<std::tuple<const Type*, DerivedKind>, hir::Function*> derived_;
};

}  // namespace dhpvm::compiler
