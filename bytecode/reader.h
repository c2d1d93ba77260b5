// SPDX-License-Identifier: Apache-2.0
// File to module. Accepts any bytes: what is not a well-formed module of a version that this build reads
// gives an error of one line that names the section and the offset. Allocates in proportion to the file.
//
// Nothing refers to `bytes` afterwards, and each byte is read once, so that a mapped file may change at any
// time. The result is decoded, not yet verified: see verifier.h.
#pragma once

#include <cstddef>
#include <span>

#include "bytecode/module.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode {

// kMalformed: not a module, cut off, or damaged. kUnsupported: a newer version, feature or section.
Result<Module> read_module(std::span<const std::byte> bytes);

}  // namespace dhpvm::bytecode
