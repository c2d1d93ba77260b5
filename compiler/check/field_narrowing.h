// SPDX-License-Identifier: Apache-2.0
// Narrowing of fields by tests: `if node.next != null { node.next.value }`.
//
// A fact about a field of a `let` object or struct that nothing can assign holds for ever. Other facts are temporary:
// they end with the first call after the test, at the start of a loop, and with an assignment of the same field of any
// object. Paths start at variables of the function or closure itself.
#pragma once

#include <map>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class FieldNarrowing : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // A point in the order of checking; keep_since() uses it.
  struct Mark {
    unsigned moment = 0;
    unsigned assignments = 0;
  };
  Mark mark() const { return {state_.moment, state_.field_assignments}; }

  // Adds the fact that the field `value`, written at `range`, has a type. False if `value` is not such a field.
  bool add_fact(const hir::Expr& value, const Type* type, Range range, std::vector<Fact>& facts);
  // Drops facts that a call or assignment since `mark` may have invalidated.
  void keep_since(Mark mark, std::vector<Fact>& facts) const;
  void learn(const std::vector<Fact>& facts);
  // The field with its narrowed type.
  E refine(E field);
  void assigned(const hir::Expr& field);
  void forget_behind(const Variable& variable);
  static void merge(std::map<FieldPath, FieldType>& into, const std::map<FieldPath, FieldType>& other);

 private:
  // False if the value is not a field that is reached from a variable.
  bool find(const hir::Expr& value, FieldPath& path, bool& is_lasting) const;
};

}  // namespace dhpvm::compiler
