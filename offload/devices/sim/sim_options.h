// SPDX-License-Identifier: Apache-2.0
// The options of a simulated device, part of its name: "sim?h2d=12GB/s&launch=5us&mem=256MB".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// Rates are per second. The defaults are those of a card on PCIe 3.0 x16.
struct SimOptions {
  double upload_bytes = 12e9;                  // h2d
  double download_bytes = 12e9;                // d2h
  double pageable_bytes = 6e9;                 // pageable: both ways, of host memory that is not pinned
  double device_bytes = 200e9;                 // d2d: copies and fills on the device
  std::chrono::nanoseconds launch{5000};       // what a launch takes before its first iteration
  std::chrono::nanoseconds copy{3000};         // what a copy takes before its first byte
  std::optional<double> iterations;            // rate; without it, a kernel takes as long as the host does
  std::uint64_t memory_bytes = 1'000'000'000;  // mem
  std::uint32_t copy_engines = 2;              // engines: 0 to 2
  std::uint32_t compute_units = 16;            // units
  bool keeps_results =
      false;  // lazy=1: results are sent back only when they are needed, even if it may be lost
  // Failures, for tests. Operations are counted from 1.
  std::optional<std::uint64_t> lost;         // the device is lost after this many operations
  std::optional<std::uint64_t> alloc_fail;   // the number of the allocation that fails
  std::optional<std::uint64_t> fail_launch;  // the number of the launch that fails
  std::optional<std::uint64_t> load_fail;    // this many kernels, the first ones, cannot be loaded
};

// kInvalidArgument for an unknown option or value; the message says what is possible.
Result<SimOptions> parse_sim_options(std::string_view name);

// "upload 12 GB/s, ...": for people.
std::string describe(const SimOptions& options);

}  // namespace dhpvm::offload
