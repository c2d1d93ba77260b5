// SPDX-License-Identifier: Apache-2.0
// Module to file. The format is described in docs/bytecode.md.
#pragma once

#include <cstddef>
#include <vector>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

struct WriteOptions {
  // Leave out source positions and the names of functions that are not exported. The texts that only these used become
  // empty; indices stay.
  bool strip = false;
};

// The bytes of a module that the verifier accepts. Equal modules give equal bytes, on every machine. The code
// is written in function order; words that belong to no function are dropped.
std::vector<std::byte> write_module(const Module& module, const WriteOptions& options = {});

}  // namespace dhpvm::bytecode
