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
  // A loop variable: the counter itself, or first + counter * step.
  struct Index {
    const Type* type = nullptr;
    E first = nullptr;  // i64, a constant or a variable before the loop; null without steps
    E step = nullptr;   // likewise
  };

  void parallel_hints(const ast::Stmt& stmt, hir::ParallelLoop& loop);
  bool range(const ast::Dimension& dimension, hir::ParallelLoop::Dimension& bounds, Index& index,
             Body& before);
  bool steps(const ast::Dimension& dimension, hir::ParallelLoop::Dimension& bounds, Index& index,
             Body& before);
  E step_value(const ast::Dimension& dimension, const Type* type, bool& downwards);
  void declare_index(const ast::Name& name, const Index& index, hir::ParallelLoop::Dimension& bounds,
                     hir::ParallelLoop& loop);
  E as_i64(E value, Range range);
};

}  // namespace dhpvm::compiler
