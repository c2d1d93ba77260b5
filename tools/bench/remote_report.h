// SPDX-License-Identifier: Apache-2.0
// Prints measurements on workers: as tables for people, and as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/workers.h"

namespace dhpvm::tools {

// The results of the requested measurements.
struct RemoteResults {
  std::vector<DeviceEntry> devices;
  std::vector<LoopCosts> loops;
  std::vector<Overlap> overlaps;
  std::optional<Several> several;
  std::vector<Product> products;

  bool verified() const;
};

std::string text_of(const LoopCosts& loops);
std::string text_of(const Overlap& overlap);
std::string text_of(const Several& several, const std::vector<DeviceEntry>& devices);
// All products must have the same shape.
std::string text_of(const std::vector<Product>& products);

std::string report_json(const RemoteResults& results);

}  // namespace dhpvm::tools
