// SPDX-License-Identifier: Apache-2.0
// Loads the library that fabric.h is about.
#pragma once

#include <memory>
#include <string>

#include "offload/remote/fabric/fabric.h"

namespace dhpvm::offload {

// Takes about half a second the first time: libraries of network adapters measure their clocks while they are
// loaded, whether the machine has such an adapter or not. Signal handlers stay as they are. `library` is a
// path; empty to look next to this code and where the loader looks. kUnsupported when this installation has
// none, with what to do.
Result<std::unique_ptr<Fabric>> load_fabric(const std::string& library = {});

}  // namespace dhpvm::offload
