// SPDX-License-Identifier: Apache-2.0
// Statements: dispatch, assignments, `if`, `use`, traps.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class StatementLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void statements(const std::vector<Stmt*>& list);
  void scoped(const std::vector<Stmt*>& list);  // a block: the registers of its locals are given back
  void trap(const char* message, const hir::Position& at);

 private:
  void statement(const Stmt& s);
  // Statements handled by this class, defined in stmt.cpp only.
  template <hir::StmtKind>
  void lower(const Stmt& s);
};

}  // namespace dhpvm::compiler
