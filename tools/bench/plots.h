// SPDX-License-Identifier: Apache-2.0
// The pictures of the page: times by mode, overlap efficiency, sweeps of the number of chunks, queues over
// time. Each is an SVG element.
#pragma once

#include <span>
#include <string>

#include "bench/suite.h"

namespace dhpvm::tools {

// Times of the modes, relative to serial pageable, of cases of one size.
std::string bars(std::span<const Case* const> cases);
// Overlap efficiency of the automatic mode: a row for each kernel, a dot for each size.
std::string efficiencies(std::span<const Case> cases);
// Time against number of chunks, of one kernel with all its sizes.
std::string sweep(std::span<const Case* const> cases);
// The operations on each queue over time, in the serial and in the automatic mode.
std::string timeline(const Case& one);

}  // namespace dhpvm::tools
