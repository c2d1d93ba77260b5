// SPDX-License-Identifier: Apache-2.0
// Lowers one function. Each concern of that work is a LoweringPart, and all parts stand in FunctionParts.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/hir/hir.h"
#include "compiler/lower/module.h"

namespace dhpvm::compiler {

// Both fill the body of function number `index`, which has been declared; errors go to the module.
void lower_function(ModuleLowering& module, std::uint32_t index, const hir::Function& function);
// `position`: of the statement that the loop is.
bytecode::KernelSource lower_kernel(ModuleLowering& module, std::uint32_t index, std::string name,
                                    const hir::ParallelLoop& loop, const hir::Position& position);

}  // namespace dhpvm::compiler
