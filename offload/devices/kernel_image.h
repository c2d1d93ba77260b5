// SPDX-License-Identifier: Apache-2.0
// A compiled kernel on its way to a device, in the form that the device takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/module.h"
#include "codegen/codegen.h"
#include "codegen/device_code.h"
#include "codegen/kernel_abi.h"

namespace dhpvm::offload {

enum class KernelFormat : std::uint8_t {
  kHostCode,    // machine code of this process
  kDeviceCode,  // text in the language of DeviceInfo::target, for the driver's compiler
  kBytecode,    // a verified module, compiled by the device that runs it
};

struct KernelImage {
  KernelFormat format = KernelFormat::kHostCode;
  std::string name;  // for messages and traces: "blur.dhp:12"
  std::uint32_t dimensions = 1;
  std::uint32_t scalars = 0;  // captured
  std::uint32_t arrays = 0;   // captured
  std::vector<bytecode::Reduction> reductions;
  std::vector<codegen::KernelSite> sites;  // where it can trap; empty: it cannot
  // kHostCode: `owner` keeps the code in memory.
  codegen::KernelCode host_code = nullptr;
  unsigned host_width = 1;  // iterations that it does at once
  unsigned host_rows = 1;   // rows of them that it does together
  std::size_t host_panel_bytes = 0;
  std::shared_ptr<const void> owner;
  // kDeviceCode.
  codegen::DeviceCode device_code;
  // kBytecode: a module as a file, the number of the kernel in it, and those of its accesses, as indices into its
  // footprint's, whose checks may be left out because they cannot fail in any launch. The receiver proves that again.
  std::shared_ptr<const std::vector<std::byte>> bytecode;
  std::uint32_t kernel = 0;
  std::vector<std::uint32_t> proven;
};

}  // namespace dhpvm::offload
