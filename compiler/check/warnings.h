// SPDX-License-Identifier: Apache-2.0
// Warnings about code that is allowed but probably a mistake: unused variables and imports, unreachable code, unused
// values. They use only the syntax of programs without errors; generic code is examined once.
#pragma once

#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

// Warns about one module of `program`.
void warn(const ast::Module& module, const ast::Program& program, Diagnostics& diagnostics);
// Warns about all modules except those of the standard library.
void warn(const ast::Program& program, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
