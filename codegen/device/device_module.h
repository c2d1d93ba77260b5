// SPDX-License-Identifier: Apache-2.0
// Lowers the bytecode of a parallel loop to the LLVM IR of a kernel for a device, independent of back ends.
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
  std::uint32_t group = 0;  // as in DeviceCode, and so are the next three
  std::uint32_t run = 1;
  std::uint32_t items = 1;
  bool has_squares = false;
  bool has_tiles = false;  // rows pass through local memory (tile_plan.h)
  Dealing dealing = Dealing::kStrides;
};

struct ModuleForm {
  Buffers buffers = Buffers::kAddresses;
  bool is_processor = false;  // as in DeviceTarget
  // Whether work-items of a group cooperate: they move rows through local memory (tile_plan.h), which requires that
  // arrays written by the loop do not overlap others, and share blocks of reductions (terms.h).
  bool has_teams = false;
  bool has_small_registers = false;  // of 32 bits: small indices are computed in these
  std::string triple;
  std::string data_layout;
};

// kUnsupported as lower_kernel.
Result<DeviceModule> make_device_module(const KernelRequest& request, const ModuleForm& form);

// Runs passes, in LLVM's notation, over the module, for `machine` if there is one. Functions of the C library count as
// unknown: a device lacks the library functions that LLVM would use instead.
Status run_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* passes);

}  // namespace dhpvm::codegen
