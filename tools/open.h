// SPDX-License-Identifier: Apache-2.0
// Opens a program for the tools, and prints diagnostics.
#pragma once

#include <string>
#include <string_view>

#include "dhpvm/limits.h"
#include "dhpvm/module.h"

namespace dhpvm::tools {

enum class WarningPolicy {
  kTerminal,  // print them if standard error is a terminal; elsewhere it belongs to the program
  kPrint,     // print them
  kFail,      // print them, and refuse a program that has any: kCompile
};

// For EngineOptions::log: warnings and listings go to standard error.
void print_log(LogKind kind, std::string_view text);

// Module::open, with diagnostics on standard error: in colours if that is a terminal.
Result<Module> open_program(const Engine& engine, const std::string& path, CompileOptions options,
                            WarningPolicy policy);

}  // namespace dhpvm::tools
