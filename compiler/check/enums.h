// SPDX-License-Identifier: Apache-2.0
// Values of enums: `Shape.circle(2.0)`, `Color.red`, and the operations on them except `match`.
#pragma once

#include <string>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class EnumChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // The enum that `expr` names, such as `Shape` or `geometry.Shape`; null if it names anything else.
  NominalSymbol* named(const ast::Expr& expr);
  // `Color.red`, `Color.cases`
  E member(NominalSymbol& symbol, const ast::Expr& member, const Type* expected);
  // `Shape.circle(2.0)`; `member` is the callee.
  E call(NominalSymbol& symbol, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  // The number of the case, as the type of its field.
  E number(E value, Range range);
  // Whether `value` is of the case that `type` names: `value is circle`.
  E is_case(E value, const ast::Type& type, Range range);
  // The cases as a list for a diagnostic's help: "circle, box and empty".
  std::string list_of_cases(const Type* type);
  // Reports that the enum has no case `name`.
  void report_missing_case(const Type* type, const ast::Name& name);

 private:
  NominalSymbol* declared(const ast::Expr& expr);
  const Type* type_for(NominalSymbol& symbol, const ast::Expr& object, const ast::EnumCase* option,
                       const ast::Expr& call, const Type* expected, std::vector<E>& ready);
  static const ast::EnumCase* declared_case(const NominalSymbol& symbol, std::string_view name);
  E all_cases(const Type* type, Range range);
  E make_case(const Type* type, std::uint32_t index, const std::vector<E>& values, Range range);
};

}  // namespace dhpvm::compiler
