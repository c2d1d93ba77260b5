// SPDX-License-Identifier: Apache-2.0
// Measures the link to a device of another machine before any decision depends on it.
#pragma once

#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {

// Submits copies of two sizes, by which the device's model learns the link; returns their positions.
Result<Positions> probe_link(PipelineDevice& device);

}  // namespace dhpvm::offload
