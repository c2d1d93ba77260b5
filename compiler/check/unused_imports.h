// SPDX-License-Identifier: Apache-2.0
// Finds unused imports: a module names none of their functions, constants and types.
#pragma once

#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

void warn_of_unused_imports(const ast::Module& module, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
