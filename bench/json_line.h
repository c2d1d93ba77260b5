// SPDX-License-Identifier: Apache-2.0
// Benchmarks report to the scripts that drive them: one JSON object in a line of standard output for each figure.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

namespace dhpvm {

inline void print_json_line(const nlohmann::ordered_json& figure) { std::puts(figure.dump().c_str()); }

}  // namespace dhpvm
