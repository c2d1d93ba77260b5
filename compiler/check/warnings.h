// SPDX-License-Identifier: Apache-2.0
// Warnings about code that is allowed, and hardly meant: unused variables and imports, code that is never
// reached, unused values. Looks at the syntax of programs without errors; generic code is looked at once.
#pragma once

#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

// About a module of `program`.
void warn(const ast::Module& module, const ast::Program& program, Diagnostics& diagnostics);
// About all modules that are not the standard library's.
void warn(const ast::Program& program, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
