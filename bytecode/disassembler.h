// SPDX-License-Identifier: Apache-2.0
// Module to text, such that assemble(disassemble(m)) == m for every module that the verifier accepts, its
// code in function order. Modules that are merely decoded are printed as far as they make sense.
#pragma once

#include <cstdint>
#include <string>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

std::string disassemble(const Module& module);

// One function alone, for people. `function` must exist.
std::string disassemble_function(const Module& module, std::uint32_t function);

}  // namespace dhpvm::bytecode
