// SPDX-License-Identifier: Apache-2.0
// Checks one function body (with the closures and parallel loops inside it) and builds its HIR. Names, flow
// and expressions all lean on each other: each concern is a part of its own, a BodyPart, and all parts stand
// in BodyParts.
#pragma once

#include <string_view>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

// Checks the body of `instance` and completes its result and its hir::Function.
void check_body(Analysis& analysis, FunctionInstance& instance);
// Checks an expression that stands outside of every function, where a constant is demanded: `what`.
hir::Expr* check_expression(Analysis& analysis, const ast::Expr& expr, const TypeContext& context,
                            const Type* expected, std::string_view what);

// Writes the function of this kind for an enum.
void write_derived(Analysis& analysis, const Type* type, DerivedKind kind, hir::Function& function,
                   SourceRange range);

// A method of `type` that passes its arguments on to `method`, which an interface of `type` gives.
hir::Function* forwarder(Analysis& analysis, Nominal& type, FunctionInstance& method, SourceRange range);

// A function that calls `main` and traps with the error that it gives.
hir::Function* entry_of(Analysis& analysis, FunctionInstance& main);

}  // namespace dhpvm::compiler
