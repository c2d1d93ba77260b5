// SPDX-License-Identifier: Apache-2.0
// A kernel taken out of its module, with only what it needs: the form in which loops travel to other machines.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

struct ExtractedKernel {
  Module module;  // its only kernel is number 0
  // By number of a function in `module`: its number in the module that it was taken from. The code of a
  // function is the same in both except for the numbers of the functions that it calls.
  std::vector<std::uint32_t> functions;
};

// `module` is verified, and so is what comes out. Functions come in the order in which a walk over the calls
// meets them, so that equal loops of different programs make equal modules. Names and lines are kept.
ExtractedKernel extract_kernel(const Module& module, std::uint32_t kernel);

}  // namespace dhpvm::bytecode
