// SPDX-License-Identifier: Apache-2.0
// `try { ... }`: a block that catches traps. Its result consists of two variables, for the error and for the value.
#pragma once

#include <map>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class TryBlockChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E try_block(const ast::Expr& expr, const Type* expected);
  // The variable of type `Error?` in which `try e` stores its error: that of the innermost block in this function or
  // closure; null if there is none.
  hir::Local* error_here() const;
  // Whether control can reach the end of the block that was checked last.
  bool completes() const { return completes_; }

 private:
  E result_of_block(E value, const Type* expected, const ast::Expr& expr, Body& body, Body& before);

  std::map<const Frame*, hir::Local*> errors_;
  bool completes_ = true;
};

}  // namespace dhpvm::compiler
