// SPDX-License-Identifier: Apache-2.0
// Explains why the system refuses memory: which of its limits this process has reached.
#pragma once

#include <string>

namespace dhpvm {

// The limit that is reached, and what to do: mappings (vm.max_map_count), address space (ulimit -v), or, if neither is
// reached, the memory of the machine. Reads /proc, so it is meant for messages only.
std::string memory_shortage();

}  // namespace dhpvm
