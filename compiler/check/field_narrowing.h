// SPDX-License-Identifier: Apache-2.0
// Facts about fields that tests tell: `if node.next != null { node.next.value }`.
//
// A fact about a field holds forever where the field is one of a `let` object or struct that nothing can assign.
// Otherwise it ends with the first call behind the test, with the beginning of a loop, and with an assignment of such a
// field, of whatever object. Paths begin at variables of the function or closure itself.
#pragma once

#include <map>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class FieldNarrowing : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // A place in the order of checking, to ask what was checked since.
  struct Mark {
    unsigned moment = 0;
    unsigned assignments = 0;
  };
  Mark mark() const { return {state_.moment, state_.field_assignments}; }

  // Adds the fact that the field `value`, written at `range`, is of a type. False if `value` is no such field.
  bool add_fact(const hir::Expr& value, const Type* type, Range range, std::vector<Fact>& facts);
  // Drops what has become doubtful since.
  void keep_since(Mark mark, std::vector<Fact>& facts) const;
  void learn(const std::vector<Fact>& facts);
  // The field as what it is known to be.
  E refine(E field);
  void assigned(const hir::Expr& field);
  void forget_behind(const Variable& variable);
  static void merge(std::map<FieldPath, FieldType>& into, const std::map<FieldPath, FieldType>& other);

 private:
  // False if the value is no field that is reached from a variable.
  bool find(const hir::Expr& value, FieldPath& path, bool& is_lasting) const;
};

}  // namespace dhpvm::compiler
