// SPDX-License-Identifier: Apache-2.0
// How the tools open a program.
#pragma once

#include <string>

#include "dhpvm/module.h"

namespace dhpvm::tools {

// Module::open, with diagnostics for the eyes of whoever sits at standard error: in colours if that is a
// terminal, and with warnings printed there.
Result<Module> open_program(const Engine& engine, const std::string& path, CompileOptions options);

}  // namespace dhpvm::tools
