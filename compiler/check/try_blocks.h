// SPDX-License-Identifier: Apache-2.0
// `try { ... }`: a block whose traps are caught. Its result is made of two variables, for the error and for the value.
#pragma once

#include <map>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class TryBlockChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E try_block(const ast::Expr& expr, const Type* expected);
  // The variable of type `Error?` of the innermost block around the current point, in this function or closure, where
  // `try e` leaves its error; null if there is none.
  hir::Local* error_here() const;
  // Whether the block that was checked last can end without an error.
  bool completes() const { return completes_; }

 private:
  E result_of_block(E value, const Type* expected, const ast::Expr& expr, Body& body, Body& before);

  std::map<const Frame*, hir::Local*> errors_;
  bool completes_ = true;
};

}  // namespace dhpvm::compiler
