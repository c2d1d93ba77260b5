// SPDX-License-Identifier: Apache-2.0
// How many work-items a launch gets, and in which groups. codegen/device_code.h says what kernels do with them; any number
// of them does the whole chunk.
#pragma once

#include <array>
#include <cstdint>

#include "offload/kernel/iteration_space.h"

namespace dhpvm::offload {

struct LaunchGrid {
  // By axis: 0 is the innermost dimension.
  std::array<std::uint32_t, 3> group = {1, 1, 1};  // work-items of a group
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
  bool operator==(const LaunchGrid&) const = default;
};

// What is good for a device and a kernel.
struct GridLimits {
  std::uint32_t group =
      1;  // work-items of a group: exactly, if the kernel wants groups of a size, else at most
  std::uint32_t groups = 1;  // of a launch, at most
};

// How a kernel deals out its iterations.
struct GridNeeds {
  bool reductions = false;  // it has some
  std::uint32_t group = 0;  // as in DeviceCode, like `runs`
  bool runs = false;
};

// `space` is one that may be launched.
LaunchGrid plan_grid(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits);

}  // namespace dhpvm::offload
