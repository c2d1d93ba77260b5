// SPDX-License-Identifier: Apache-2.0
// From bytecode to a kernel in the form that a device takes.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "codegen/codegen.h"
#include "offload/devices/device.h"
#include "offload/loops/footprint.h"

namespace dhpvm::offload {

// The image of a kernel without its code: what is known from the module alone.
KernelImage describe_kernel(const bytecode::Module& module, std::uint32_t kernel, std::string name);

// Compiles the kernel of `request` for a device that does not take bytecode. `image` is what describe_kernel() says.
Result<KernelImage> compile_kernel(codegen::CodeGenerator& generator, const codegen::KernelRequest& request,
                                   const DeviceInfo& device, KernelImage image);

// Accesses of a footprint, by index, as the code generator knows them.
std::set<codegen::CallPath> paths_of(const bytecode::Module& module, const bytecode::KernelRecord& record,
                                     const Footprint& footprint, std::span<const std::uint32_t> accesses);

}  // namespace dhpvm::offload
