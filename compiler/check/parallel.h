// SPDX-License-Identifier: Apache-2.0
// `parallel for`: its dimensions, hints and body.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ParallelLoopChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void parallel_for(const ast::Stmt& stmt, Body& out);

 private:
  void parallel_hints(const ast::Stmt& stmt, hir::ParallelLoop& loop);
};

}  // namespace dhpvm::compiler
