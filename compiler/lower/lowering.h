// SPDX-License-Identifier: Apache-2.0
// From the checked program to bytecode. Start here, then function.h.
#pragma once

#include <cstdint>

#include "bytecode/module.h"
#include "compiler/hir/hir.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler {

// The instructions that the line table covers.
enum class LinesOf : std::uint8_t {
  kStops,         // those that can trap, call or be interrupted: all that a running program can observe
  kInstructions,  // all, for counting lines; functions of the program are not inlined then
};

// The module of `program`, which the checker has accepted. Always passes the verifier. Fails with
// kUnsupported when the program is beyond the limits of the module format, and with kInternal for a mistake
// of the compiler.
Result<bytecode::Module> lower(const hir::Program& program, LinesOf lines = LinesOf::kStops);

}  // namespace dhpvm::compiler
