// SPDX-License-Identifier: Apache-2.0
// Emits LLVM IR as an object file in memory, or as an assembly listing.
#pragma once

#include <memory>
#include <string>

#include "codegen/host/optimise.h"
#include "dhpvm/result.h"

namespace llvm {
class MemoryBuffer;
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Both change `module`, which can be emitted only once. kInternal with LLVM's diagnostics if it reports an error.
Result<std::unique_ptr<llvm::MemoryBuffer>> emit_object(llvm::Module& module, llvm::TargetMachine& machine,
                                                        Pipeline pipeline);
Result<std::string> emit_assembly(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline);

}  // namespace dhpvm::codegen
