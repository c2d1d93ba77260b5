// SPDX-License-Identifier: Apache-2.0
// The assignments to local variables of a body, collected before the body is checked: narrowing must know what a loop
// or a closure assigns further down. Names are resolved by scope, so that a variable is never confused with another of
// its name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "compiler/parse/ast.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

// A variable is identified by the place of its name in its declaration.
class Assignments {
 public:
  // Adds the assignments inside `node`, which declares the variables.
  void collect(const ast::Function& function);
  void collect(const ast::Expr& expr);

  // Whether a statement inside `region` assigns the variable, in closures too.
  bool inside(SourceRange variable, SourceRange region) const;
  // Whether a closure assigns the variable that is declared outside of that closure.
  bool in_closure(SourceRange variable) const;
  // Whether a statement inside an expression assigns the variable, so that it may change between two operands.
  bool in_expression(SourceRange variable) const;

 private:
  friend class AssignmentScan;
  struct Found {
    std::set<std::uint32_t> places;  // offsets
    bool in_closure = false;
    bool in_expression = false;
  };
  const Found* find(SourceRange variable) const;

  std::map<std::pair<std::uint32_t, std::uint32_t>, Found> found_;  // by file and offset of the declaration
};

}  // namespace dhpvm::compiler
