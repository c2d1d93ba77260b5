// SPDX-License-Identifier: Apache-2.0
// Copies checked functions and gives the copies their own variables.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

class HirCopy {
 public:
  explicit HirCopy(Analysis& analysis) : analysis_(analysis) {}

  // A function with the same body and parameters. The caller declares captured variables: see local().
  hir::Function& function(const hir::Function& original);
  // The copy's variable for `original`, made at the first call. Copies capture nothing by reference.
  hir::Local* declare(const hir::Local* original);

  struct Loop {
    const hir::Stmt* original = nullptr;
    hir::Stmt* copy = nullptr;
  };
  const std::vector<Loop>& loops() const { return loops_; }

 private:
  hir::Local* local(hir::Local* original) const;
  std::vector<hir::Stmt*> statements(const std::vector<hir::Stmt*>& originals);
  std::vector<hir::Expr*> expressions(const std::vector<hir::Expr*>& originals);
  hir::Expr* expression(const hir::Expr* original);
  hir::Stmt* statement(const hir::Stmt& original);
  void parallel_loop(const hir::ParallelLoop& original, hir::ParallelLoop& copy);

  Analysis& analysis_;
  std::unordered_map<const hir::Local*, hir::Local*> locals_;
  std::vector<Loop> loops_;
};

}  // namespace dhpvm::compiler
