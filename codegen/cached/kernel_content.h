// SPDX-License-Identifier: Apache-2.0
// Compiled kernels in the cache: their keys, and the metadata stored with the code.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace dhpvm::codegen {

// A kernel's code as the virtual machine sees it.
struct KernelDescription {
  std::vector<KernelSite> sites;
  KernelTier tier = KernelTier::kOptimised;
  unsigned width = 1;
  // See CompiledKernel.
  unsigned rows = 1;
  unsigned staged_operands = 0;
  unsigned packed_operands = 0;
  std::size_t panel_bytes = 0;
  std::string scalar_reason;  // the reason for a width of 1
};

// The parts of the module that the kernel depends on: its record, and its functions. Equal loops of different programs,
// or of a program that was changed elsewhere, have equal content if their functions have the same numbers.
std::string kernel_content(const KernelRequest& request);

std::vector<std::byte> encode_description(const KernelDescription& description);
// Empty if the bytes are not the output of encode_description.
std::optional<KernelDescription> decode_description(std::span<const std::byte> bytes);

}  // namespace dhpvm::codegen
