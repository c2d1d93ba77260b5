// SPDX-License-Identifier: Apache-2.0
// The counters of a run, for people and for programs.
#pragma once

#include <string>

#include "dhpvm/stats.h"

namespace dhpvm::tools {

// One aligned line per counter, with units that suit its size.
std::string statistics_table(const Statistics& statistics);

// One object in one line; times in nanoseconds, sizes in bytes.
std::string statistics_json(const Statistics& statistics);

}  // namespace dhpvm::tools
