// SPDX-License-Identifier: Apache-2.0
// Extracts a kernel with the functions and types that it needs. In this form loops travel to other machines.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

struct ExtractedKernel {
  Module module;  // its only kernel is number 0
  // Maps function numbers of `module` to those of the original module. The code of a function is the same in both
  // except for the numbers of its callees.
  std::vector<std::uint32_t> functions;
};

// `module` is verified, and so is the result. Functions are numbered in the order of a walk over the calls, so that
// equal loops of different programs give equal modules. Names and lines are kept.
ExtractedKernel extract_kernel(const Module& module, std::uint32_t kernel);

}  // namespace dhpvm::bytecode
