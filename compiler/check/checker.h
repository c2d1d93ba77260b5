// SPDX-License-Identifier: Apache-2.0
// The checker: from the syntax trees of a program to its checked form (hir.h). Resolves names, infers and
// checks types, instantiates generics, narrows nullable variables, proves parallel loops pure.
#pragma once

#include <memory>

#include "compiler/hir/hir.h"
#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

// Null when the program is wrong; the diagnostics say why. `diagnostics.sources()` names the files.
std::unique_ptr<hir::Program> check(const ast::Program& source, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
