// SPDX-License-Identifier: Apache-2.0
// Reduction variables of parallel loops and their updates.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ReductionChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& kernel);
  bool reduction_assign(const ast::Stmt& stmt, Body& out);

 private:
  const ast::Expr* min_max_argument(const ast::Expr& call, std::string_view variable,
                                    bytecode::ReductionOp op);
};

}  // namespace dhpvm::compiler
