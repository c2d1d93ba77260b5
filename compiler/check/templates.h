// SPDX-License-Identifier: Apache-2.0
// Templates: functions that call their parameters in parallel loops; see specialise.h.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler {

class Templates {
 public:
  // Marks the templates of the program.
  explicit Templates(hir::Program& program);

  // Whether the parameter for this operand of the call is called in a parallel loop.
  bool needs(const hir::Expr& call, std::size_t operand) const {
    if (call.kind != hir::ExprKind::kCall) return false;
    const auto known = parameters_.find(call.function);
    return known != parameters_.end() && known->second.contains(operand);
  }

 private:
  bool look_at(const hir::Function& function);

  std::map<const hir::Function*, std::set<std::size_t>> parameters_;
};

}  // namespace dhpvm::compiler
