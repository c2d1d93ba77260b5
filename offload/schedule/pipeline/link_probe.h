// SPDX-License-Identifier: Apache-2.0
// Measures the link to a device of another machine before anything depends on it.
#pragma once

#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {

// Submits copies of two sizes, which the device's model then knows; when they have been done.
Result<Positions> probe_link(PipelineDevice& device);

}  // namespace dhpvm::offload
