// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload {

wire::Device facts_of(const DeviceInfo& info) {
  return {info.name,          info.description, info.memory_bytes, info.largest_allocation,
          info.compute_units, info.is_gpu,      info.is_simulated};
}

}  // namespace dhpvm::offload
