// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/templates.h"

#include <algorithm>

#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::ExprKind;

// Finds the parameters that the value of an expression may be, or that a closure may have captured.
class Trace {
 public:
  Trace(const hir::Function& function, std::set<std::size_t>& found) : function_(function), found_(found) {
    hir::walk(
        function.body, [](const hir::Expr&) { return true; },
        [&](const hir::Stmt& stmt) {
          if (stmt.kind == hir::StmtKind::kLet && stmt.value != nullptr) values_[stmt.local] = stmt.value;
          return true;
        });
  }

  void expression(const hir::Expr& expr) {
    if (expr.kind == ExprKind::kLocal) return local(expr.local);
    if (expr.kind != ExprKind::kClosure) return;
    for (const hir::Capture& capture : expr.function->captures) local(capture.outer);
  }

 private:
  void local(const hir::Local* local) {
    if (!local->type->is(TypeKind::kFunction) || !seen_.insert(local).second) return;
    const auto parameter = std::ranges::find(function_.parameters, local);
    if (parameter != function_.parameters.end())
      found_.insert(static_cast<std::size_t>(parameter - function_.parameters.begin()));
    if (const auto value = values_.find(local); value != values_.end()) expression(*value->second);
  }

  const hir::Function& function_;
  std::set<std::size_t>& found_;
  std::map<const hir::Local*, const hir::Expr*> values_;
  std::set<const hir::Local*> seen_;
};

}  // namespace

// Functions that pass their own parameters on to a template are templates, too.
Templates::Templates(hir::Program& program) {
  for (bool grows = true; grows;) {
    grows = false;
    for (hir::Function* function : program.functions) {
      if (function->closure_type != nullptr || !look_at(*function)) continue;
      function->is_template = true;
      grows = true;
    }
  }
}

// Returns whether it found another parameter.
bool Templates::look_at(const hir::Function& function) {
  std::set<std::size_t> found;
  Trace trace(function, found);
  hir::walk(
      function.body,
      [&](const hir::Expr& expr) {
        for (std::size_t i = 0; i < expr.operands.size(); ++i) {
          if (needs(expr, i)) trace.expression(*expr.operands[i]);
        }
        return true;
      },
      [&](const hir::Stmt& stmt) {
        if (stmt.loop == nullptr) return true;
        for (const hir::ParallelLoop::Capture& capture : stmt.loop->captures)
          trace.expression(*capture.value);
        return true;
      });
  if (found.empty()) return false;
  std::set<std::size_t>& known = parameters_[&function];
  const std::size_t before = known.size();
  known.merge(found);
  return known.size() > before;
}

}  // namespace dhpvm::compiler
