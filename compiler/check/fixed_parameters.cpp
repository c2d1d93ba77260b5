// SPDX-License-Identifier: Apache-2.0
// Functions with fixed arrays as parameters, which are always inlined.
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "compiler/check/analysis.h"
#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::ExprKind;

class Recursion {
 public:
  explicit Recursion(Analysis& analysis) : analysis_(analysis) {}

  void check(const hir::Function& function) {
    if (!hir::is_part_of_callers(function) || !known_.insert(&function).second) return;
    open_.insert(&function);
    hir::walk(
        function.body,
        [&](const hir::Expr& expr) {
          if (expr.kind != ExprKind::kCall) return true;
          if (open_.contains(expr.function)) {
            analysis_
                .error(analysis_.range_of(&expr),
                       "'{}' has a fixed array as parameter and cannot call itself", expr.function->name)
                .note(analysis_.range_of(*expr.function), "'{}' is declared here", expr.function->name)
                .help("write the recursion as a loop, or take an array such as `[f64]`");
          } else {
            check(*expr.function);
          }
          return true;
        },
        [](const hir::Stmt&) { return true; });
    open_.erase(&function);
  }

 private:
  Analysis& analysis_;
  std::set<const hir::Function*> known_;
  std::set<const hir::Function*> open_;
};

// Counts inlined bodies: if each function calls the next one twice, they double.
class Bodies {
 public:
  explicit Bodies(Analysis& analysis) : analysis_(analysis) {}

  std::uint64_t count(const hir::Function& function) {
    const auto [known, fresh] = known_.try_emplace(&function, 0);
    if (!fresh) return known->second;
    std::uint64_t sum = 0;
    const hir::Expr* last = nullptr;
    hir::walk(
        function.body,
        [&](const hir::Expr& expr) {
          if (expr.kind != ExprKind::kCall || !hir::is_part_of_callers(*expr.function) || sum > kMost)
            return true;
          sum += 1 + count(*expr.function);
          last = &expr;
          return true;
        },
        [](const hir::Stmt&) { return true; });
    if (sum > kMost) {
      analysis_
          .error(analysis_.range_of(last),
                 "functions with fixed arrays as parameters become a part of '{}' at more than {} calls",
                 function.name, kMost)
          .note(analysis_.range_of(*last->function), "'{}' is declared here", last->function->name)
          .help("write a loop around fewer calls, or take an array such as `[f64]`");
      sum = 0;  // reported once
    }
    return known_[&function] = sum;
  }

 private:
  // Compiling a function with so many inlined bodies takes seconds.
  static constexpr std::uint64_t kMost = 512;

  Analysis& analysis_;
  std::map<const hir::Function*, std::uint64_t> known_;
};

}  // namespace

void check_fixed_parameters(Analysis& analysis) {
  Recursion recursion(analysis);
  for (const hir::Function* function : analysis.program().functions) recursion.check(*function);
  if (analysis.diagnostics().has_errors()) return;
  Bodies bodies(analysis);
  for (const hir::Function* function : analysis.program().functions) bodies.count(*function);
}

std::optional<SourceRange> write_of_fixed(const Analysis& analysis, const hir::Function& function,
                                          const hir::Local& array) {
  std::optional<SourceRange> first;
  hir::walk(
      function.body,
      [&](const hir::Expr& expr) {
        if (first || expr.kind != ExprKind::kCall) return !first;
        for (std::size_t i = 0; i < expr.operands.size() && !first; ++i) {
          const bool passes_on =
              expr.operands[i]->kind == ExprKind::kLocal && expr.operands[i]->local == &array;
          if (passes_on) first = write_of_fixed(analysis, *expr.function, *expr.function->parameters[i]);
        }
        return !first;
      },
      [&](const hir::Stmt& stmt) {
        const hir::Expr* place = stmt.place;
        while (place != nullptr && place->kind == ExprKind::kField) place = place->operands[0];
        const bool writes =
            place != nullptr && place->kind == ExprKind::kFixedIndex && place->local == &array;
        if (!first && writes) first = analysis.range_of(&stmt);
        return !first;
      });
  return first;
}

}  // namespace dhpvm::compiler
