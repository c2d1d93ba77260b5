// SPDX-License-Identifier: Apache-2.0
// Facts about a function that lowering needs before it starts: the locals that are assigned, and those without
// registers.
#pragma once

#include <unordered_set>
#include <vector>

#include "compiler/hir/hir.h"
#include "compiler/lower/named_texts.h"

namespace dhpvm::compiler {

struct FunctionFacts {
  // Assigned after their declaration.
  std::unordered_set<const hir::Local*> assigned;
  // Assigned inside an expression (in a kBlock) that does not declare them: they may change between the evaluation of
  // an operand and its use.
  std::unordered_set<const hir::Local*> assigned_in_expression;

  // Locals without registers: their uses join the parts of their value.
  NamedTexts named_texts;

  void add(const std::vector<hir::Stmt*>& body);
};

// Whether evaluating `e` reads `local`.
bool mentions(const hir::Expr& e, const hir::Local& local);

}  // namespace dhpvm::compiler
