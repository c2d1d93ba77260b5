// SPDX-License-Identifier: Apache-2.0
// The memory that this process may use before the system ends it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace dhpvm {

struct SystemMemory {
  std::size_t bytes = 0;
  std::string source;  // for people: "the machine's memory", or the file of a control group that says so
};

// The smaller of the machine's memory and the limits of the control groups (version 1 and 2) that the process is in and
// of those above them. `root` is where the files of the system are, for tests.
SystemMemory find_system_memory(const std::filesystem::path& root = "/");

// The same value, determined once.
const SystemMemory& system_memory();

}  // namespace dhpvm
