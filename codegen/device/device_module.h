// SPDX-License-Identifier: Apache-2.0
// From the bytecode of a parallel loop to the LLVM IR of a kernel for a device, before any back end has seen it.
#pragma once

#include <llvm/IR/DataLayout.h>

#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/device/device_loop.h"
#include "codegen/host/ir_module.h"
#include "dhpvm/result.h"

namespace llvm {
class TargetMachine;
}

namespace dhpvm::codegen {

// The name of the kernel in all languages.
inline constexpr char kDeviceEntry[] = "dhpvm_kernel";

struct DeviceModule {
  IrModule ir;
  DeviceEntry entry;
  std::vector<KernelSite> sites;
  bool fast_math = false;
  std::uint32_t group = 0;  // as in DeviceCode, like `dealing`
  Dealing dealing = Dealing::kStrides;
};

// kUnsupported as lower_kernel.
Result<DeviceModule> make_device_module(const KernelRequest& request, Buffers buffers, bool is_processor,
                                        const std::string& triple, const std::string& data_layout);

// Runs passes, in LLVM's notation, over the module, for `machine` if there is one. Functions of the C library are taken
// for unknown ones: a device does not have the others that LLVM would replace them by.
Status run_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* passes);

}  // namespace dhpvm::codegen
