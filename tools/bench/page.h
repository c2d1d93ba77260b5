// SPDX-License-Identifier: Apache-2.0
// Writes all measurements as one page for a browser, in a single file.
#pragma once

#include <string>
#include <vector>

#include "bench/suite.h"

namespace dhpvm::tools {

std::string report_page(const std::vector<Case>& cases, const Plan& plan, const DeviceUse& device);

}  // namespace dhpvm::tools
