// SPDX-License-Identifier: Apache-2.0
// Equality of values, and derived functions: text, hash and equality of an enum, and the text of a struct that contains
// arrays of itself.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class DerivedFunctions : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // `left == right`, of one type.
  E equality(E left, E right, Range range);
  // Calls the method `equals` of the type; null if the type has none that takes the same type.
  E own_equality(E left, E right, Range range);
  // A call of the function of this kind for the enum.
  E call(DerivedKind kind, std::vector<E> arguments, Range range);
  // Writes the body of such a function.
  void write(const Type* type, DerivedKind kind, hir::Function& function, Range range);

 private:
  E inside_equality(E left, E right, Range range);
  E result_for(DerivedKind kind, const std::vector<E>& arguments, std::uint32_t index, Range range);
  E case_text(E value, std::uint32_t index, Range range);
  E case_hash(E value, std::uint32_t index, Range range);
  E case_equality(E left, E right, std::uint32_t index, Range range);
};

}  // namespace dhpvm::compiler
