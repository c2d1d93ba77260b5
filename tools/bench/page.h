// SPDX-License-Identifier: Apache-2.0
// All measurements as one page for a browser, which needs nothing besides itself.
#pragma once

#include <string>
#include <vector>

#include "bench/suite.h"

namespace dhpvm::tools {

std::string report_page(const std::vector<Case>& cases, const Plan& plan, const DeviceUse& device);

}  // namespace dhpvm::tools
