// SPDX-License-Identifier: Apache-2.0
// Why the system refuses memory: which of its limits this process is at.
#pragma once

#include <string>

namespace dhpvm {

// The limit that is reached, and what to do: mappings (vm.max_map_count), address space (ulimit -v), or, where neither
// is, the memory of the machine. Reads /proc: for messages.
std::string memory_shortage();

}  // namespace dhpvm
