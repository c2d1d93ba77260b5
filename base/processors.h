// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dhpvm {

// The processors that this process may run on (sched_getaffinity), and no more than the quota of its control
// group, version 1 or 2, rounded up. At least 1. Asked once; the answer is that of the first call.
unsigned usable_processors();

// The quota of the group that `membership`, the text of /proc/self/cgroup, names below `root`, where the
// hierarchies are mounted, and of the groups above it: the least. Nothing where there is none. For tests.
std::optional<double> processor_quota(const std::string& root, std::string_view membership);

}  // namespace dhpvm
