// SPDX-License-Identifier: Apache-2.0
// Checks one function body (with the closures and parallel loops inside it) and builds its HIR. Each concern is a
// class, a BodyPart. Names, flow and expressions depend on each other, so BodyParts gives each part access to all.
#pragma once

#include <string_view>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

// Checks the body of `instance` and completes its result and its hir::Function.
void check_body(Analysis& analysis, FunctionInstance& instance);
// Checks an expression outside of every function that must be constant; `what` names it in messages.
hir::Expr* check_expression(Analysis& analysis, const ast::Expr& expr, const TypeContext& context,
                            const Type* expected, std::string_view what);

// Writes the body of a derived function.
void write_derived(Analysis& analysis, const Type* type, DerivedKind kind, hir::Function& function,
                   SourceRange range);

// A method of `type` that calls `method`, which an interface of `type` implements.
hir::Function* forwarder(Analysis& analysis, Nominal& type, FunctionInstance& method, SourceRange range);

// A function that calls `main` and traps with the error that `main` returns.
hir::Function* entry_of(Analysis& analysis, FunctionInstance& main);

}  // namespace dhpvm::compiler
