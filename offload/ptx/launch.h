// SPDX-License-Identifier: Apache-2.0
// Runs a kernel: block after block, and in each block warp after warp from barrier to barrier. The order is
// deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "offload/ptx/meter.h"
#include "offload/ptx/program.h"
#include "offload/ptx/warp.h"

namespace dhpvm::ptx {

struct KernelLaunch {
  const Program* program = nullptr;
  const Function* entry = nullptr;
  Extent grid;
  Extent block;
  std::uint32_t dynamic_shared = 0;
  std::vector<std::byte> parameters;  // as long as parameter_bytes() says
  std::vector<std::shared_ptr<Allocation>> memory;
  std::uint64_t limit = std::uint64_t{1} << 40;  // of instructions, times threads
  bool is_metered = false;                       // whether to fill in LaunchOutcome::counts
};

struct LaunchOutcome {
  std::optional<Fault> fault;
  std::uint64_t executed = 0;
  Counts counts;  // zeros unless the launch is metered
};

std::uint32_t parameter_bytes(const Function& entry);
// Thread-safe for launches that share no memory.
LaunchOutcome run(const KernelLaunch& launch);

}  // namespace dhpvm::ptx
