// SPDX-License-Identifier: Apache-2.0
// The command line of dhpvm-run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dhpvm/dhpvm.h"
#include "options.h"
#include "remote.h"

namespace dhpvm::tools {

std::span<const Option> run_options();
std::string run_help();

// The settings of all options, as the public API takes them.
struct RunRequest {
  EngineOptions engine;
  IsolateOptions isolate;
  CompileOptions compile;
  RemoteRequest remote;
  enum class Stats : std::uint8_t { kNone, kTable, kJson } stats = Stats::kNone;
};

// `arguments` come from run_options(). kInvalidArgument for invalid values and combinations.
Result<RunRequest> request_of(const Arguments& arguments);

}  // namespace dhpvm::tools
