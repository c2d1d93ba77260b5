// SPDX-License-Identifier: Apache-2.0
// The work-items of a launch, and their groups. codegen/device_code.h describes what kernels do with them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codegen/device_code.h"
#include "offload/loops/iteration_space.h"

namespace dhpvm::offload {

struct LaunchGrid {
  // By axis: 0 is the innermost dimension.
  std::array<std::uint32_t, 3> group = {1, 1, 1};  // work-items of a group
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
  bool operator==(const LaunchGrid&) const = default;
};

// The limits of a device for a kernel.
struct GridLimits {
  std::uint32_t group = 1;   // the most work-items of a group
  std::uint32_t groups = 1;  // the most groups of a launch; for kSingly the least, if the space has as many
  // For kStrides: groups are smaller if there would be fewer of them than this.
  std::uint32_t processors = 1;
  bool squares = false;  // groups for squares of iterations (codegen/group_work.h) may be launched
};

// The properties of a kernel that its grid depends on.
struct GridNeeds {
  bool reductions = false;  // it has some
  std::uint32_t group = 0;  // as in DeviceCode, like `dealing` and `run`; limits take it into account
  codegen::Dealing dealing = codegen::Dealing::kStrides;
  std::uint32_t run = 1;
  std::uint32_t items = 1;
  bool has_squares = false;
};

// For all but kSingly. `space` must be one that may be launched, here and below.
LaunchGrid plan_grid(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits);

// The indices of the outermost dimension that a chunk needs at least in order to be done in squares; its multiples suit
// as well. 1 if no chunk can be, or if squares do not lie along that dimension.
std::uint64_t rows_for_squares(const IterationSpace& space, const GridLimits& limits);

// The indices of the outermost dimension with which a chunk has work for all processors, or all that there are: with
// fewer it would take as long. 1 for loops with reductions, whose chunks have whole blocks.
std::uint64_t rows_to_fill(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits);

// A box of a space that consists of whole groups.
struct LaunchPiece {
  std::array<std::uint64_t, 3> first = {0, 0, 0};  // by axis: the distance from the space's low bounds
  std::array<std::uint64_t, 3> items = {1, 1, 1};
  std::array<std::uint32_t, 3> group = {1, 1, 1};  // divides `items`
  bool operator==(const LaunchPiece&) const = default;
};

// For kSingly: pieces that cover the space with one work-item for each iteration. Drivers compile a kernel anew for
// each width of a group, so widths are powers of two for all extents of a program, except for a few that suit the rows.
class PiecePlanner {
 public:
  std::vector<LaunchPiece> plan(const IterationSpace& space, const GridLimits& limits);

 private:
  void cut(LaunchPiece piece, unsigned axis, unsigned axes, std::uint32_t room);
  std::uint32_t width_of_rows(const LaunchPiece& whole, std::uint32_t most);
  bool comes_again(std::uint64_t row);
  bool is_own_width(std::uint64_t width);

  std::vector<std::uint64_t> own_widths_;
  std::vector<std::uint64_t> rows_;  // lengths of some earlier rows
  std::vector<LaunchPiece> pieces_;
};

}  // namespace dhpvm::offload
