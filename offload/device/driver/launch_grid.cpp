// SPDX-License-Identifier: Apache-2.0
#include "offload/device/driver/launch_grid.h"

#include <algorithm>
#include <bit>

#include "bytecode/module.h"

namespace dhpvm::offload {
namespace {

// What all drivers take: groups along the axes 1 and 2, and work-items of a group along axis 2.
constexpr std::uint64_t kMostAlongOuterAxes = 65535;
constexpr std::uint64_t kThickestGroup = 64;

std::uint64_t quotient_up(std::uint64_t value, std::uint64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// Not 0, nor more than `most`.
std::uint32_t limited(std::uint64_t value, std::uint64_t most) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(value, 1, std::max<std::uint64_t>(most, 1)));
}

// Single work-items with runs: cuts the outermost dimension first, which leaves the longest runs in memory.
LaunchGrid cut_outermost(const IterationSpace& space, std::uint64_t items) {
  LaunchGrid grid;
  for (unsigned d = 0; d < space.dimensions; ++d) {
    const unsigned axis = space.inner() - d;
    grid.groups[axis] = limited(space.extent(d), axis == 0 ? items : std::min(items, kMostAlongOuterAxes));
    items = items / grid.groups[axis];
  }
  return grid;
}

// Neighbours do neighbouring iterations: as many of a group along the innermost dimension as it has, which makes one access
// to memory of theirs; what is left of the group goes outwards.
LaunchGrid cover(const IterationSpace& space, const GridLimits& limits) {
  LaunchGrid grid;
  std::uint64_t group = limits.group;
  std::uint64_t groups = limits.groups;
  for (unsigned axis = 0; axis < space.dimensions; ++axis) {
    const std::uint64_t extent = space.extent(space.inner() - axis);
    // Powers of two divide what devices run together.
    if (axis == 2) group = std::min(group, kThickestGroup);
    grid.group[axis] = limited(std::bit_ceil(std::min(extent, group)), group);
    grid.groups[axis] = limited(quotient_up(extent, grid.group[axis]),
                                axis == 0 ? groups : std::min(groups, kMostAlongOuterAxes));
    group /= grid.group[axis];
    groups /= grid.groups[axis];
  }
  return grid;
}

}  // namespace

LaunchGrid plan_grid(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits) {
  if (needs.reductions) {
    LaunchGrid grid;
    const std::uint64_t per_group = needs.runs ? 1 : std::max(needs.group / bytecode::kReductionLanes, 1U);
    grid.group[0] = limits.group;
    grid.groups[0] = limited(quotient_up(reduction_blocks(space), per_group), limits.groups);
    return grid;
  }
  return needs.runs ? cut_outermost(space, limits.groups) : cover(space, limits);
}

}  // namespace dhpvm::offload
