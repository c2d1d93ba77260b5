// SPDX-License-Identifier: Apache-2.0
// Imports whose functions, constants and types a module never names.
#pragma once

#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

void warn_of_unused_imports(const ast::Module& module, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
