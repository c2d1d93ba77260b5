// SPDX-License-Identifier: Apache-2.0
// The options after the question mark in the name of a device: "sim?h2d=12GB/s&launch=5us", "host?inline".
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::offload {

struct DeviceOption {
  std::string_view key;
  std::string_view value;  // empty when there is no "="
};

// The options of `name`, in order; none when it has no question mark. kInvalidArgument for a key that is not among
// `known`, with the nearest one, and for one that is given twice.
Result<std::vector<DeviceOption>> parse_device_options(std::string_view name,
                                                       std::span<const std::string_view> known);

}  // namespace dhpvm::offload
