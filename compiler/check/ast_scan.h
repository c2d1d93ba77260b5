// SPDX-License-Identifier: Apache-2.0
// Which variables a piece of source may assign, by name alone: enough to know, before checking a
// loop or a closure, which narrowings cannot be trusted inside it. Shadowed names make the answer
// larger, never smaller.
#pragma once

#include <set>
#include <string_view>

#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

using NameSet = std::set<std::string_view>;

// Names that `stmt` assigns, in closures too.
void collect_assigned(const ast::Stmt& stmt, NameSet& names);
// Names that closures inside `stmt` or `expr` assign.
void collect_assigned_in_closures(const ast::Stmt& stmt, NameSet& names);
void collect_assigned_in_closures(const ast::Expr& expr, NameSet& names);

}  // namespace dhpvm::compiler
