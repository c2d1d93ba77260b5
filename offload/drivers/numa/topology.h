// SPDX-License-Identifier: Apache-2.0
// The nodes of this machine's memory, as Linux describes them below /sys/devices/system/node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace dhpvm::offload {

struct NumaNode {
  unsigned number = 0;               // the system's number; there may be gaps
  std::vector<unsigned> processors;  // those that this process may use; may be empty
  std::uint64_t memory_bytes = 0;    // may be 0
};

// The nodes in the order of their numbers; none if the system does not list them. `allowed`: the processors that this
// process may use, in ascending order. `root`: the folder with the system's files.
std::vector<NumaNode> numa_nodes(const std::vector<unsigned>& allowed,
                                 const std::filesystem::path& root = "/");

// The numbers in a list such as "0-3,8,10-11", in ascending order. Reading stops at text that is not part of a list.
std::vector<unsigned> parse_cpu_list(std::string_view text);

// The processors that this process may run on, in ascending order.
std::vector<unsigned> allowed_processors();

// Makes the calling thread, and the threads that it starts, run only on these processors. If the system refuses,
// everything works, but slower.
void run_on(const std::vector<unsigned>& processors);

// Asks for the pages of this memory, which must not have been touched, to be on the node. If the system refuses,
// everything works, but slower.
void place_on(unsigned node, void* memory, std::size_t bytes);

}  // namespace dhpvm::offload
