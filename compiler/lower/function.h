// SPDX-License-Identifier: Apache-2.0
// Lowers one function. Each concern of that work is a LoweringPart; FunctionParts has all of them.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/hir/hir.h"
#include "compiler/lower/module.h"

namespace dhpvm::compiler {

// Lowers the body of function number `index`, which has been declared; errors go to the module.
void lower_function(ModuleLowering& module, std::uint32_t index, const hir::Function& function);
// The same for a loop. `position`: of its statement.
bytecode::KernelSource lower_kernel(ModuleLowering& module, std::uint32_t index, std::string name,
                                    const hir::ParallelLoop& loop, const hir::Position& position);

}  // namespace dhpvm::compiler
