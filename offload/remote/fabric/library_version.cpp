// SPDX-License-Identifier: Apache-2.0
// The number by which a caller checks the interface of a shared library of this folder.
#include "offload/remote/fabric/fabric.h"

extern "C" [[gnu::visibility("default")]] std::uint32_t dhpvm_fabric_version() {
  return dhpvm::offload::kFabricVersion;
}
