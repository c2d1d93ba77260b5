// SPDX-License-Identifier: Apache-2.0
// Estimates the time that one execution of a loop takes on the host's cores or on a device, from measurements of both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {

// The time that a loop is expected to take on one device.
struct DeviceEstimate {
  double transfer_seconds = 0;  // the longer direction, or the sum if directions take turns
  double kernel_seconds = 0;
  double total_seconds = 0;  // with overlap
  double least_seconds = 0;  // for the smallest part of the loop that can be done there
  // The kernel has never run there, so its time is unknown and counts as zero.
  bool is_guess = false;
  std::uint64_t upload_bytes = 0;
  std::uint64_t download_bytes = 0;
};

DeviceEstimate estimate(PipelineDevice& device, const Loop& loop, const RunPlan& plan);

// "3.4 ms (upload 64.0 MB, kernel 1.2 ms)", for explanations.
std::string describe(const DeviceEstimate& estimate);
std::string seconds_text(double seconds);

}  // namespace dhpvm::offload
