// SPDX-License-Identifier: Apache-2.0
// Prints measurements: as a table for people, and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/suite.h"

namespace dhpvm::tools {

// The heading of the table, and a line of it.
std::string table_heading();
std::string table_line(const Case& one);
// The legend of the table, and the summary.
std::string table_closing(const std::vector<Case>& cases, const DeviceUse& device);

std::string report_json(const std::vector<Case>& cases, const Plan& plan, const DeviceUse& device);

// "2.35 ms": three digits.
std::string time_text(double seconds);
// "64 MB", in powers of 1024.
std::string size_text(std::uint64_t bytes);

}  // namespace dhpvm::tools
