// SPDX-License-Identifier: Apache-2.0
// `for` over iterators: structs with the methods `has_next() -> bool` and `next()`, which gives a struct of two fields,
// the element and the rest.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

// Created where it is needed.
class IteratorLoops : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // The value that a loop iterates over. If the library has a function `iterate_f`, a call of a text's method f becomes
  // a call of that: text.lines() makes no array of lines then.
  E value(const ast::Expr& expr);
  // Whether values of the type have the methods of an iterator.
  bool is_iterator(const Type* type, Range range);

  // The loop, whose body the caller fills, and the values of its variables.
  struct Loop {
    hir::Stmt* whole = nullptr;  // a block that sets up the loop; the loop belongs at its end
    hir::Stmt* made = nullptr;
    E element = nullptr;  // the error type after a diagnostic
    bool is_good = false;
  };
  Loop begin(const ast::Stmt& stmt, E iterator);
  // Lets `index` be the position of the element, at the beginning of the loop's body.
  void count(const Loop& loop, hir::Local* index, Range range);

 private:
  bool may_be_method(const ast::Expr& call);
};

}  // namespace dhpvm::compiler
