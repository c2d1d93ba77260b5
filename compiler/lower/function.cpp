// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/function.h"

#include <utility>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

void lower_function(ModuleLowering& module, std::uint32_t index, const hir::Function& function) {
  FunctionParts(module, index, function.name).bodies.lower(function);
}

bytecode::KernelSource lower_kernel(ModuleLowering& module, std::uint32_t index, std::string name,
                                    const hir::ParallelLoop& loop, const hir::Position& position) {
  FunctionParts parts(module, index, std::move(name));
  parts.state.code.set_position(position);
  return parts.bodies.lower_kernel(loop);
}

}  // namespace dhpvm::compiler
