// SPDX-License-Identifier: Apache-2.0
// One execution of a parallel loop, as the loop tier hands it to the devices.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dhpvm/result.h"
#include "gc/object.h"
#include "offload/loops/loop_progress.h"
#include "offload/schedule/pipeline/chunk_needs.h"
#include "vm/device_kernels.h"

namespace dhpvm::vm {

// The caller keeps everything that it refers to alive until the loop is done or in flight.
struct OffloadRequest {
  KernelWish kernel;
  offload::Loop loop;
  const gc::Ref* arrays = nullptr;        // the captured ones
  std::span<std::uint64_t> accumulators;  // initial values, then results
  double host_seconds = 0;                // expected on the host; 0: not known
  bool is_host_known = false;             // measured often enough to compare it with devices
  offload::LoopProgress* progress = nullptr;

  std::uint32_t number() const { return kernel.number; }
};

// The last cause in an error's chain; the errors before it say what was being done.
const std::string& first_cause(const Error& error);

}  // namespace dhpvm::vm
