// SPDX-License-Identifier: Apache-2.0
// The nodes of this machine's memory, as Linux describes them below /sys/devices/system/node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace dhpvm::offload {

struct NumaNode {
  unsigned number = 0;               // as the system counts them; there may be gaps
  std::vector<unsigned> processors;  // those that this process may use; may be empty
  std::uint64_t memory_bytes = 0;    // may be 0
};

// The nodes in the order of their numbers; none where the system does not say. `allowed` are the processors that this
// process may use, in ascending order, and `root` is where the files of the system are.
std::vector<NumaNode> numa_nodes(const std::vector<unsigned>& allowed,
                                 const std::filesystem::path& root = "/");

// The numbers in a list such as "0-3,8,10-11", in ascending order; what is no list ends it.
std::vector<unsigned> parse_cpu_list(std::string_view text);

// The processors that this process may run on, in ascending order.
std::vector<unsigned> allowed_processors();

// Makes the calling thread, and the threads that it starts, run on these processors only. A system that refuses is a
// reason to be slower, and none to fail.
void run_on(const std::vector<unsigned>& processors);

// Asks for the pages of this memory, which nobody has touched yet, to lie on the node. Likewise.
void place_on(unsigned node, void* memory, std::size_t bytes);

}  // namespace dhpvm::offload
