// SPDX-License-Identifier: Apache-2.0
// Prints the counters of a run, for people and for programs; `left` is the memory still held at its end.
#pragma once

#include <span>
#include <string>

#include "dhpvm/device.h"
#include "dhpvm/stats.h"

namespace dhpvm::tools {

// One aligned line per counter, with units that suit its size; then one per worker.
std::string statistics_table(const Statistics& statistics, const Leftovers& left,
                             std::span<const WorkerUse> workers);

// One object in one line; times in nanoseconds, sizes in bytes.
std::string statistics_json(const Statistics& statistics, const Leftovers& left,
                            std::span<const WorkerUse> workers);

}  // namespace dhpvm::tools
