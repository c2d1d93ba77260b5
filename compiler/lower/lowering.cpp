// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/lowering.h"

#include "compiler/lower/module.h"

namespace dhpvm::compiler {

Result<bytecode::Module> lower(const hir::Program& program, LinesOf lines) {
  return ModuleLowering(program, lines).run();
}

}  // namespace dhpvm::compiler
