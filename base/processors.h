// SPDX-License-Identifier: Apache-2.0
// The number of processors that this process may use.
#pragma once

#include <optional>

#include "base/control_groups.h"

namespace dhpvm {

// The processors that this process may run on (sched_getaffinity), and no more than the quota of its control
// groups, rounded up. At least 1. Asked once; the answer is that of the first call.
unsigned usable_processors();

// The smallest quota of these groups; nothing if none has one. For tests.
std::optional<double> processor_quota(const ControlGroups& groups);

}  // namespace dhpvm
