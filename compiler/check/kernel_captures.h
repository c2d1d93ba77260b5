// SPDX-License-Identifier: Apache-2.0
// The values that a parallel loop captures before it begins.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class KernelCaptures : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E hoisted(const ast::Expr& expr);
  Variable* capture_in_kernel(Frame& kernel, std::string_view name, E value, Range range);
  // A variable that the checker made before the loop, as the loop sees it.
  hir::Local* pass(hir::ParallelLoop& loop, hir::Local* outer, Range range);

 private:
  bool path_of(const ast::Expr& expr, std::string& path, Variable*& root);
  bool is_kernel_array(const Type* type);
};

}  // namespace dhpvm::compiler
