// SPDX-License-Identifier: Apache-2.0
// The function that libdhpvm_fabric exports.
#include <rdma/fabric.h>

#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/ofi_transport.h"

extern "C" [[gnu::visibility("default")]] void dhpvm_create_ofi_transport(
    const dhpvm::offload::TransportOptions& options,
    dhpvm::Result<std::unique_ptr<dhpvm::offload::Transport>>& result) {
  // The first look-up initialises all providers, with side effects: do it now, while the caller protects the signal
  // handlers.
  fi_info* found = nullptr;
  if (fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &found) == 0) fi_freeinfo(found);
  result = dhpvm::offload::OfiTransport::create(options);
}
