// SPDX-License-Identifier: Apache-2.0
// Loads the libraries behind fabric.h.
#pragma once

#include <memory>
#include <string>

#include "offload/remote/fabric/fabric.h"

namespace dhpvm::offload {

// Loads OpenSSL at once, which takes some milliseconds, and libfabric with the first transport that names a provider.
// That takes half a second: libraries of network adapters measure their clocks while they are loaded, whether the
// machine has such an adapter or not. Signal handlers stay as they are. The libraries are looked for in `folder`; if
// that is empty, next to this code and where the loader looks. kUnsupported, with the remedy, when this installation
// has none.
Result<std::unique_ptr<Fabric>> load_fabric(const std::string& folder = {});

}  // namespace dhpvm::offload
