// SPDX-License-Identifier: Apache-2.0
// From the checked program to bytecode. Start here, then function.h.
#pragma once

#include "bytecode/module.h"
#include "compiler/hir/hir.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler {

// The module of `program`, which the checker has accepted. Always passes the verifier. Fails with
// kUnsupported when the program is beyond the limits of the module format, and with kInternal for a mistake
// of the compiler.
Result<bytecode::Module> lower(const hir::Program& program);

}  // namespace dhpvm::compiler
