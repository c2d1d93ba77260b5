// SPDX-License-Identifier: Apache-2.0
// For tests: random functions in LLVM assembly, with all structured control flow.
#pragma once

#include <cstdint>
#include <string>

namespace dhpvm::codegen::spmd {

// The text of a module that defines @body as TestKernel wants it. Iterations are independent, end, and have
// no undefined behaviour, with n from 0 to 40, at most 128 iterations, and arrays of 2,048 words of any
// content.
std::string random_program(std::uint32_t seed);

}  // namespace dhpvm::codegen::spmd
